"""MLflow in a few lines: the policy as a pyfunc model, its certificate and report as artefacts."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from .learn import Learner, Selector
from .policy import Policy


def log_policy(learner: Learner | Selector, name: str = "policy") -> Any:
    """Logs a fitted learner to the active run and returns what MLflow says of the model.

    The model's `predict` gives, for rows of contexts, a DataFrame with the mean action; the policy file is its only artefact, so
    `counterpoint act` reads it too. Certificate and report are logged beside it, and the verdict and gain as tag and metric.
    """
    import mlflow

    class Pyfunc(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
        def load_context(self, context: Any) -> None:
            self.policy = Policy.load(context.artifacts["policy"])

        # MLflow reads annotations here as a schema of the rows, which the policy checks itself
        def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
            import pandas as pd

            mean = self.policy.mean(model_input)
            return pd.DataFrame(mean.reshape(len(mean), -1), columns=self.policy.actions)

    policy, certificate = learner._fitted(), learner.certificate_
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "policy.json"
        policy.save(file)
        if certificate is not None:
            certificate.save(Path(home) / "certificate.json")
            certificate.report(Path(home) / "report.html")
            mlflow.log_artifact(str(Path(home) / "certificate.json"))
            mlflow.log_artifact(str(Path(home) / "report.html"))
            mlflow.set_tag("counterpoint.verdict", certificate.verdict)
            mlflow.log_metric("counterpoint.gain", certificate.difference["estimate"])
        mlflow.log_params({k: json.dumps(v, default=str)[:250] for k, v in learner.get_params().items() if v is not None})
        return mlflow.pyfunc.log_model(name=name, python_model=Pyfunc(), artifacts={"policy": str(file)})
