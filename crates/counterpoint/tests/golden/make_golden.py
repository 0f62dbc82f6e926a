#!/usr/bin/env python3
"""Golden vectors for continuous-action counterfactual risk minimisation.

Written from the equations of Zenati et al., "Counterfactual Learning of Stochastic Policies with Continuous
Actions" (TMLR 2025); nothing here comes from the authors' repository.  Everything is float64.
Needs numpy, scipy, autograd; mpmath (optional) is used for 50-digit cross checks and the stress cases.

Conventions (all files)
-----------------------
* y is a COST (= -reward).  Policies minimise.
* theta = [beta..., sigma]; sigma is the STANDARD DEVIATION of the action for both families.
    constant : beta = [b0]
    linear   : beta = [b0, b1_1..b1_d]                 mu = b0 + <x, b1>
    poly     : beta = [b0, B_11, B_12, .., B_dd]       mu = b0 + sum_ij B_ij x_i x_j   (row-major, d*d entries)
    clp_lin  : beta = B.ravel(), B is (m, d)           psi_X(x) = x
    clp_quad : beta = B.ravel(), B is (m, d*d+d)       psi_X(x) = [vec_rowmajor(x x^T), x]
      eta(x,a) = sum_{l,j} B[l,j] psi_A(a)[l] psi_X(x)[j]          (action index is the slow one)
      psi_A(a) = K_ZZ^{-1/2} K_Z(a),  K(a,a') = exp(-alpha/2 (a-a')^2), symmetric inverse square root
      mu(x)    = sum_k z_k exp(-gamma eta(x,z_k)) / sum_k exp(-gamma eta(x,z_k))   (soft-ARGMIN; no intercept)
* normal    : a ~ N(mu, sigma^2)
  lognormal : log a ~ N(mlog, slog^2), slog^2 = log(1 + sigma^2/mu^2), mlog = log(mu) - slog^2/2  (mean mu, var sigma^2)
* w_i = pi(a_i|x_i)/pi0_i
* ips       : mean(y w)                    var: 1/(n-1) sum (y w - mean)^2
  cips(M)   : mean(y min(w, M))            var: same with min(w, M)
  scips(M)  : mean(y zeta(w, M))           var: same with zeta(w, M)
     zeta(w,M) = w if w <= M else alpha log(w + alpha - M), alpha log alpha = M (principal solution, alpha >= 1)
  snips     : sum(y w)/sum(w)              var: sum (w (y - snips))^2 / (sum w)^2
* objective(lambda) = risk + lambda sqrt(var / n)        -- same form for all four, incl. SNIPS, as printed in the paper
* gradients are with respect to theta (last entry: d/d sigma; d/d log sigma = sigma * d/d sigma)
* ess = (sum w)^2 / sum w^2,  mean_w = mean(w)
* entropy: mean over rows of the differential entropy of pi(.|x_i)
* prox: objective + kappa/2 ||theta - theta_prev||^2
"""
import json, os, sys
import numpy as onp
import autograd.numpy as np
from autograd import grad, hessian, value_and_grad
from scipy import integrate

HERE = os.path.dirname(os.path.abspath(__file__))
LOG2PI = float(onp.log(2 * onp.pi))


# ---------------------------------------------------------------- soft clipping
def alpha_of(M):
    """alpha >= 1 with alpha*log(alpha) = M, by Newton on u = log(alpha): u e^u = M."""
    M = float(M)
    if M == 0.0:
        return 1.0
    u = onp.log1p(M)
    for _ in range(100):
        e = onp.exp(u)
        step = (u * e - M) / (e * (1 + u))
        u -= step
        if abs(step) <= 1e-17 * max(1.0, abs(u)):
            break
    return float(onp.exp(u))


def zeta(w, M):
    al = alpha_of(M)
    over = w > M
    safe = np.where(over, w, M)          # keeps the log branch finite where it is not selected
    return np.where(over, al * np.log(safe + al - M), w)


# ---------------------------------------------------------------- feature maps and means
def psi_x(X, kind):
    if kind == "lin":
        return X
    q = X[:, :, None] * X[:, None, :]
    return onp.concatenate([q.reshape(len(X), -1), X], axis=1)


def gauss(a, b, alpha):
    return onp.exp(-alpha / 2.0 * (onp.asarray(a)[:, None] - onp.asarray(b)[None, :]) ** 2)


def inv_sqrt(K):
    lam, U = onp.linalg.eigh(K)
    return (U / onp.sqrt(lam)) @ U.T


def psi_a(a, Z, alpha):
    """rows: psi_A(a_i)"""
    return gauss(a, Z, alpha) @ inv_sqrt(gauss(Z, Z, alpha))


def softargmin(eta, Z, gamma):
    t = -gamma * eta
    t = t - np.max(t, axis=1, keepdims=True)
    e = np.exp(t)
    return np.dot(e, Z) / np.sum(e, axis=1)


def mean_fn(model, X, clp=None):
    d = X.shape[1]
    if model == "constant":
        return lambda beta: beta[0] * np.ones(len(X))
    if model == "linear":
        return lambda beta: beta[0] + np.dot(X, beta[1:])
    if model == "poly":
        Q = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        return lambda beta: beta[0] + np.dot(Q, beta[1:])
    kind = model.split("_")[1]
    P = psi_x(X, "lin" if kind == "lin" else "quad")
    Z, al, ga = onp.asarray(clp["anchors"]), clp["alpha"], clp["gamma"]
    A = psi_a(Z, Z, al)                                   # (m, m): row k = psi_A(z_k)
    return lambda beta: softargmin(np.dot(P, np.dot(A, np.reshape(beta, (len(Z), P.shape[1]))).T), Z, ga)


def log_density(family, a, mu, sigma):
    if family == "normal":
        return -0.5 * ((a - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * LOG2PI
    s2 = np.log(1 + sigma ** 2 / mu ** 2)
    ml = np.log(mu) - s2 / 2
    return -0.5 * (np.log(a) - ml) ** 2 / s2 - 0.5 * np.log(s2) - np.log(a) - 0.5 * LOG2PI


def mean_entropy(family, mu, sigma):
    if family == "normal":
        return 0.5 * (LOG2PI + 1) + np.log(sigma)
    s2 = np.log(1 + sigma ** 2 / mu ** 2)
    ml = np.log(mu) - s2 / 2
    return np.mean(ml + 0.5 * np.log(s2) + 0.5 * (LOG2PI + 1))


# ---------------------------------------------------------------- estimators
def risk_var(est, w, y, M=None):
    n = len(y)
    if est == "snips":
        L = np.sum(y * w) / np.sum(w)
        return L, np.sum((w * (y - L)) ** 2) / np.sum(w) ** 2
    t = {"ips": lambda: w, "cips": lambda: np.minimum(w, M), "scips": lambda: zeta(w, M)}[est]()
    u = y * t
    m = np.mean(u)
    return m, np.sum((u - m) ** 2) / (n - 1)


def pmcis(lw, lam, s):
    """power-mean corrected weight of Metelli et al. 2021, from the LOG weight lw: ((1-lam) w^s + lam)^(1/s);
    s=-1 -> w/(1-lam+lam w); s=0 -> w^(1-lam).  Log form because w^s overflows for tiny w and s<0."""
    if s == 0:
        return np.exp((1 - lam) * lw)
    return np.exp(np.logaddexp(np.log(1 - lam) + s * lw, np.log(lam)) / s)


# ---------------------------------------------------------------- checks
def fd_check(f, x, g, name, tol=2e-6):
    worst = 0.0
    for i in range(len(x)):
        h = 1e-5 * max(1.0, abs(x[i]))
        e = onp.zeros_like(x); e[i] = h
        num = (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h)
        worst = max(worst, abs(num - g[i]) / max(1e-3, onp.max(onp.abs(g))))
    assert worst < tol, (name, worst)
    return worst


def tolist(o):
    if isinstance(o, dict):
        return {k: tolist(v) for k, v in o.items()}
    if isinstance(o, (list, tuple)):
        return [tolist(v) for v in o]
    if isinstance(o, onp.ndarray):
        return tolist(o.tolist())
    if isinstance(o, (onp.floating,)):
        return float(o)
    if isinstance(o, (onp.integer,)):
        return int(o)
    return o


def lines(o, depth=0):
    """JSON with every digit, members of the three outer levels of objects on lines of their own."""
    if not isinstance(o, dict) or depth == 3 or not o:
        return json.dumps(o, allow_nan=False, separators=(",", ":"))   # no NaN or infinity may reach a fixture
    pad = " " * (depth + 1)
    return "{\n" + ",\n".join(f"{pad}{json.dumps(k)}: {lines(v, depth + 1)}" for k, v in o.items()) + "}"


def dump(name, obj):
    with open(os.path.join(HERE, name), "w") as f:
        f.write(lines(tolist(obj)) + "\n")
    print("wrote", name, os.path.getsize(os.path.join(HERE, name)), "bytes")


# ---------------------------------------------------------------- data
def make_data(d, seed):
    rng = onp.random.default_rng(seed)
    n = 64
    X = rng.uniform(0, 1, (n, d))
    if d == 2:       # reward peaked at an unobserved potential, logging lognormal with mean 2 and std 1
        mean0, std0 = 2.0, 1.0
        p = onp.abs(onp.where(X[:, 0] + X[:, 1] > 1, 3.0, 1.0) + 0.5 * rng.standard_normal(n))
        s2 = onp.log(1 + std0 ** 2 / mean0 ** 2)
        a = onp.exp(onp.log(mean0) - s2 / 2 + onp.sqrt(s2) * rng.standard_normal(n))
        rew = onp.maximum(onp.where(a < p, a / p, 1 + 0.5 * p - 0.5 * a), -0.1)
        y = -rew
        mu0, sd0 = onp.full(n, mean0), onp.full(n, std0)
    else:            # bidding-like: mostly zero rewards, heavy positive tail, context-dependent logging policy
        mu0 = 1.0 + 0.5 * X[:, 0]
        sd0 = 0.3 + 0.2 * X[:, 1]
        s2 = onp.log(1 + sd0 ** 2 / mu0 ** 2)
        a = onp.exp(onp.log(mu0) - s2 / 2 + onp.sqrt(s2) * rng.standard_normal(n))
        hit = rng.uniform(size=n) < 0.3
        y = onp.where(hit, -10.0 * rng.gamma(1.5, 1.0, n) * onp.exp(-(a - 1.2) ** 2), 0.0)
    logpi0 = log_density("lognormal", a, mu0, sd0)
    return dict(x=X, a=a, y=y, pi0=onp.exp(logpi0), log_pi0=logpi0, logging_mean=mu0, logging_std=sd0)


def run(d, seed, anchors_levels, alpha, gamma):
    D = make_data(d, seed)
    X, a, y, lp0 = D["x"], D["a"], D["y"], D["log_pi0"]
    n = len(y)
    rng = onp.random.default_rng(seed + 1000)
    Z = onp.quantile(a, anchors_levels)                    # linear interpolation ("type 7")
    clp = dict(anchors=Z, alpha=alpha, gamma=gamma)
    out = dict(meta=dict(n=n, d=d, cost_convention="y = -reward", clp=clp, anchor_levels=list(anchors_levels),
                         Ms=[1.0, 2.0, 5.0, 20.0], lambdas=[0.0, 1.0, 10.0], kappa=0.1, entropy_coef=0.01, ridge_C=0.01),
               data=D,
               nystrom=dict(K_ZZ=gauss(Z, Z, alpha), K_ZZ_inv_sqrt=inv_sqrt(gauss(Z, Z, alpha)),
                            psi_A_at_anchors=psi_a(Z, Z, alpha), psi_A_at_actions=psi_a(a, Z, alpha)),
               psi_X_quad=psi_x(X, "quad"),
               policies={})
    Ms, lams = out["meta"]["Ms"], out["meta"]["lambdas"]
    dims = dict(constant=1, linear=1 + d, poly=1 + d * d, clp_lin=len(Z) * d, clp_quad=len(Z) * (d * d + d))
    worst = 0.0
    for model, p in dims.items():
        mf = mean_fn(model, X, clp)
        for family in ("normal", "lognormal"):
            r = onp.random.default_rng([seed, p, family == "normal"])
            beta = r.normal(0, 0.4, p)
            if not model.startswith("clp"):
                beta[0] = 1.3 if d == 3 else 1.8
            if model in ("linear", "poly"):
                beta[1:] *= 0.6
            sigma = 0.45 if d == 3 else 0.2
            theta = onp.concatenate([beta, [sigma]])
            LW = lambda th: log_density(family, a, mf(th[:-1]), th[-1]) - lp0
            W = lambda th: np.exp(LW(th))
            mu = onp.asarray(mf(beta)); w = onp.asarray(W(theta))
            assert family == "normal" or mu.min() > 0
            # golden values must not sit on a kink of the clipping functions
            for M in Ms:
                assert onp.abs(w - M).min() > 1e-5, (model, family, M)
            pol = dict(model=model, family=family, theta=theta, mu=mu, log_pi=onp.asarray(log_density(family, a, mu, sigma)),
                       weights=w, ess=w.sum() ** 2 / (w ** 2).sum(), mean_w=w.mean(), entropy=float(mean_entropy(family, mu, sigma)),
                       entropy_grad=grad(lambda th: mean_entropy(family, mf(th[:-1]), th[-1]))(theta), estimators={})
            for est in ("ips", "snips"):
                pol["estimators"][est] = one(est, None, W, theta, y, n, lams)
            for est in ("cips", "scips"):
                pol["estimators"][est] = {f"M={M:g}": one(est, M, W, theta, y, n, lams) for M in Ms}
            # gradient checks by 4th-order finite differences, and one full training objective
            for est, M in (("ips", None), ("snips", None), ("cips", 2.0), ("scips", 2.0)):
                f = obj(est, M, 10.0, W, y, n)
                g = grad(f)(theta)
                worst = max(worst, fd_check(lambda t: float(f(t)), theta, g, (model, family, est)))
            prev = theta + r.normal(0, 0.1, len(theta)); prev[-1] = abs(prev[-1])
            kap, ec, C = 0.1, 0.01, 0.01
            nz = 0 if model.startswith("clp") else 1       # ridge leaves the intercept (if any) and sigma out
            f = lambda th: obj("scips", 5.0, 1.0, W, y, n)(th) + kap / 2 * np.sum((th - prev) ** 2) \
                + C / 2 * np.sum(th[nz:-1] ** 2) - ec * mean_entropy(family, mf(th[:-1]), th[-1])
            v, g = value_and_grad(f)(theta)
            pol["full_objective"] = dict(definition="scips(M=5) + 1*sqrt(V/n) + kappa/2||theta-prev||^2 + C/2||beta without intercept||^2 - entropy_coef*mean entropy",
                                         prev=prev, value=v, grad=g)
            worst = max(worst, fd_check(lambda t: float(f(t)), theta, g, "full"))
            if p <= 10:
                pol["hessian_scips_M5_lambda1"] = hessian(obj("scips", 5.0, 1.0, W, y, n))(theta)
                pol["hessian_snips_lambda0"] = hessian(obj("snips", None, 0.0, W, y, n))(theta)
            pol["pmcis"] = {f"s={s:g},lambda={l:g}": dict(weights=pmcis(LW(theta), l, s), risk=float(onp.mean(y * pmcis(LW(theta), l, s))),
                                                         grad=grad(lambda th: np.mean(y * pmcis(LW(th), l, s)))(theta))
                            for s in (-1.0, 0.0, -0.5) for l in (0.01, 0.1, 0.5)}
            assert onp.allclose(pol["pmcis"]["s=-1,lambda=0.1"]["weights"], w / (0.9 + 0.1 * w), rtol=1e-13)
            worst = max(worst, fd_check(lambda t: float(np.mean(y * pmcis(LW(t), 0.1, -0.5))), theta, pol["pmcis"]["s=-0.5,lambda=0.1"]["grad"], "pmcis"))
            out["policies"][f"{model}_{family}"] = pol
    # direct method: ridge of y on psi(x,a) (intercept not penalised): 1/(2n)||Pw+b-y||^2 + rho/2||w||^2
    PX, PA = psi_x(X, "lin"), psi_a(a, Z, alpha)
    P = (PA[:, :, None] * PX[:, None, :]).reshape(n, -1)
    rho = 1e-3
    Pc, yc = P - P.mean(0), y - y.mean()
    coef = onp.linalg.solve(Pc.T @ Pc / n + rho * onp.eye(P.shape[1]), Pc.T @ yc / n)
    b = y.mean() - P.mean(0) @ coef
    AZ = psi_a(Z, Z, alpha)
    eta_Z = onp.einsum("kl,lj,ij->ik", AZ, coef.reshape(len(Z), -1), PX) + b
    greedy = Z[onp.argmin(eta_Z, axis=1)]
    # doubly robust value of the linear-normal policy with the closed form E_{a~N(mu,s^2)} eta_hat(x,a)
    pol = out["policies"]["linear_normal"]; sig = pol["theta"][-1]
    R = inv_sqrt(gauss(Z, Z, alpha))
    def dr(th):
        mu = mean_fn("linear", X)(th[:-1]); s = th[-1]
        Ek = np.exp(-alpha * (np.reshape(mu, (-1, 1)) - Z[None, :]) ** 2 / (2 * (1 + alpha * s ** 2))) / np.sqrt(1 + alpha * s ** 2)
        Eeta = np.sum(np.dot(Ek, R) * np.dot(PX, coef.reshape(len(Z), -1).T), axis=1) + b
        w = np.exp(log_density("normal", a, mu, s) - lp0)
        return np.mean(w * (y - (P @ coef + b))) + np.mean(Eeta), Eeta
    th = onp.asarray(pol["theta"])
    val, Eeta = dr(th)
    # verify E eta by quadrature on a few rows
    for i in (0, 7, 31):
        mu = float(mean_fn("linear", X)(th[:-1])[i])
        q = integrate.quad(lambda t: float((psi_a(onp.array([t]), Z, alpha) @ coef.reshape(len(Z), -1) @ PX[i])[0] + b)
                           * onp.exp(-0.5 * ((t - mu) / sig) ** 2) / (sig * onp.sqrt(2 * onp.pi)), mu - 12 * sig, mu + 12 * sig, limit=400, epsabs=1e-13)[0]
        assert abs(q - Eeta[i]) < 1e-10, (q, Eeta[i])
    out["direct_method"] = dict(rho=rho, objective="1/(2n)||P w + b - y||^2 + rho/2 ||w||^2", psi="clp_lin layout", coef=coef, intercept=b,
                                fitted=P @ coef + b, eta_at_anchors=eta_Z, greedy_action=greedy)
    out["doubly_robust_linear_normal"] = dict(value=val, expected_eta=Eeta, grad=grad(lambda t: dr(t)[0])(th))
    print(f"d={d}: worst relative gradient error vs finite differences {worst:.2e}")
    dump(f"golden_d{d}.json", out)
    return out


def obj(est, M, lam, W, y, n):
    def f(th):
        L, V = risk_var(est, W(th), y, M)
        return L if lam == 0 else L + lam * np.sqrt(V / n)
    return f


def one(est, M, W, theta, y, n, lams):
    L, V = risk_var(est, W(theta), y, M)
    o = dict(risk=float(L), variance=float(V), variance_grad=grad(lambda th: risk_var(est, W(th), y, M)[1])(theta), objective={})
    for lam in lams:
        v, g = value_and_grad(obj(est, M, lam, W, y, n))(theta)
        o["objective"][f"lambda={lam:g}"] = dict(value=v, grad=g)
    return o


# ---------------------------------------------------------------- scalar tables
def tables():
    T = dict(soft_clip=[], gaussian_kernel_expectation=[], lognormal=[], quantiles=[])
    for M in (0.0, 0.5, 1.0, 1.7, 2.8, 4.6, 7.7, 10.0, 12.9, 21.5, 35.9, 59.9, 100.0, 1e4):
        al = alpha_of(M)
        assert abs(al * onp.log(al) - M) <= 1e-12 * max(1, M)
        ws = onp.unique(onp.concatenate([onp.array([0.0, 1e-12, 0.3, 1.0, 3.0, 50.0, 1e3, 1e8, 1e300]), [M, M * (1 + 1e-9), M + 1e-3, 2 * M + 1]]))
        z = onp.asarray(zeta(ws, M)); dz = onp.where(ws > M, al / (onp.maximum(ws, M) + al - M), 1.0)
        T["soft_clip"].append(dict(M=M, alpha=al, w=ws, zeta=z, dzeta_dw=dz))
    for mu in (-1.0, 0.0, 0.7, 3.0):
        for s in (1e-3, 0.3, 1.0, 2.5):
            for c in (0.0, 1.5):
                for al in (0.1, 1.0, 25.0):
                    q = 1 + al * s * s
                    v = onp.exp(-al * (mu - c) ** 2 / (2 * q)) / onp.sqrt(q)
                    dmu = -al * (mu - c) / q * v
                    ds = v * (al * al * s * (mu - c) ** 2 / q ** 2 - al * s / q)
                    num = integrate.quad(lambda t: onp.exp(-al / 2 * (mu + s * t - c) ** 2 - t * t / 2) / onp.sqrt(2 * onp.pi), -14, 14, limit=800, epsabs=1e-14, points=[(c - mu) / s] if abs((c - mu) / s) < 14 else None)[0]
                    assert abs(num - v) < 1e-11, (mu, s, c, al, num, v)
                    T["gaussian_kernel_expectation"].append(dict(mu=mu, s=s, c=c, alpha=al, value=v, d_mu=dmu, d_s=ds))
    for mu in (0.05, 0.5, 2.0, 30.0):
        for sg in (1e-4, 0.1, 1.0, 5.0):
            s2 = onp.log1p(sg ** 2 / mu ** 2); ml = onp.log(mu) - s2 / 2
            aa = onp.array([0.01, 0.4, 1.0, 2.0, 7.0, 33.0])
            T["lognormal"].append(dict(mean=mu, std=sg, mlog=ml, slog=onp.sqrt(s2), a=aa, entropy=ml + 0.5 * onp.log(2 * onp.pi * onp.e * s2),
                                       log_pdf=-0.5 * (onp.log(aa) - ml) ** 2 / s2 - 0.5 * onp.log(s2) - onp.log(aa) - 0.5 * LOG2PI))
    v = onp.array([0.3, 2.2, 1.1, 5.0, 0.9, 3.3, 2.7])
    for K in (2, 3, 4, 5):
        lv = onp.linspace(0, 1, K + 1)
        T["quantiles"].append(dict(values=v, levels=lv, quantile=onp.quantile(v, lv)))
    # effective sample size and SNIPS invariances on fixed weights
    w = onp.array([0.0, 0.5, 1.0, 2.0, 4.0]); y = onp.array([-1.0, 0.0, -0.5, -0.25, 0.1])
    L = (w * y).sum() / w.sum()
    T["tiny"] = dict(w=w, y=y, ess=w.sum() ** 2 / (w ** 2).sum(), ips=(w * y).mean(), ips_var=(w * y).var(ddof=1), snips=L,
                     snips_var=((w * (y - L)) ** 2).sum() / w.sum() ** 2, snips_shift_plus_3=L + 3,
                     cips_M2=(onp.minimum(w, 2) * y).mean(), scips_M2=float(onp.mean(onp.asarray(zeta(w, 2.0)) * y)),
                     pmcis_s_minus1_lambda_0p1=w / (0.9 + 0.1 * w))
    dump("tables.json", T)


def stress():
    """cases where a naive evaluation overflows, underflows or cancels; references in 50-digit arithmetic"""
    try:
        import mpmath as mp
    except ImportError:
        print("mpmath missing: stress.json not regenerated"); return
    mp.mp.dps = 50
    S = dict(softargmin=[], normal_logpdf=[], lognormal_logpdf=[], soft_clip_alpha=[], snips_huge_logw=None)
    for eta, Z, g in (([0.0, 1.0, 2.0], [0.1, 1.0, 5.0], 1000.0), ([-800.0, -799.5, 3.0], [0.5, 2.0, 3.0], 1.0),
                      ([1e5, 1e5 + 1e-3], [1.0, 2.0], 100.0), ([0.0] * 4, [1.0, 2.0, 3.0, 4.0], 10.0)):
        e = [mp.e ** (-mp.mpf(g) * mp.mpf(t)) for t in eta]
        S["softargmin"].append(dict(eta=eta, anchors=Z, gamma=g, mu=float(sum(z * q for z, q in zip(map(mp.mpf, Z), e)) / sum(e))))
    for a, mu, sg in ((1.0, 1.0, 1e-8), (2.0, 1.0, 1e-4), (1.0 + 1e-9, 1.0, 1e-9), (5.0, -3.0, 0.05)):
        A, m, s = mp.mpf(a), mp.mpf(mu), mp.mpf(sg)
        S["normal_logpdf"].append(dict(a=a, mu=mu, sigma=sg, value=float(-((A - m) / s) ** 2 / 2 - mp.log(s) - mp.log(2 * mp.pi) / 2)))
    for a, mu, sg in ((1.0, 1.0, 1e-6), (1.0 + 1e-7, 1.0, 1e-7), (0.3, 2.0, 1e-3), (1e-6, 2.0, 1.0), (2.0, 1e-6, 1.0), (3.0, 2.0, 100.0)):
        A, m, s = mp.mpf(a), mp.mpf(mu), mp.mpf(sg)
        s2 = mp.log(1 + s * s / m / m); ml = mp.log(m) - s2 / 2
        S["lognormal_logpdf"].append(dict(a=a, mean=mu, std=sg, value=float(-(mp.log(A) - ml) ** 2 / s2 / 2 - mp.log(s2) / 2 - mp.log(A) - mp.log(2 * mp.pi) / 2)))
    for M in (1e-12, 1e-3, 1.0, 10.0, 1e6, 1e12):
        S["soft_clip_alpha"].append(dict(M=M, alpha=float(mp.e ** mp.lambertw(mp.mpf(M)))))
    lw = [1000.0, 998.0, -2000.0, 1001.0]; y = [-1.0, 0.5, -3.0, 0.25]
    e = [mp.e ** mp.mpf(t) for t in lw]
    L = sum(mp.mpf(t) * q for t, q in zip(y, e)) / sum(e)
    S["snips_huge_logw"] = dict(log_w=lw, y=y, snips=float(L), snips_var=float(sum((q * (mp.mpf(t) - L)) ** 2 for t, q in zip(y, e)) / sum(e) ** 2),
                                ess=float(sum(e) ** 2 / sum(q * q for q in e)))
    dump("stress.json", S)


if __name__ == "__main__":
    run(2, 20, onp.linspace(0, 1, 5), alpha=2.0, gamma=3.0)
    run(3, 30, onp.linspace(0.05, 0.95, 4), alpha=6.0, gamma=10.0)
    tables()
    stress()
