//! What the library's remedies are called here: flags.

use counterpoint::error::Remedy;

/// The flag that a remedy means.
pub(crate) fn flag(remedy: &Remedy) -> String {
    match remedy {
        Remedy::DropInvalid => "--drop-invalid",
        Remedy::Categorical => "--categorical NAME",
        Remedy::Propensity => "--propensity COLUMN",
        Remedy::PropensityColumn(name) => return format!("--propensity column:{name}"),
        Remedy::FitPropensity => "--propensity fit",
        Remedy::RowWeight => "--weight",
        Remedy::RowCount => "--count",
        Remedy::Cluster => "--cluster",
        Remedy::SplitColumn => "--split",
        Remedy::SameSplit => "the same --seed or --split",
        Remedy::Split => "--split COLUMN, or a hash of the rows by --seed,",
        Remedy::Resume => "--resume",
        Remedy::Scratch => "--scratch DIR",
        Remedy::Missing => "--missing indicator",
        Remedy::TargetDensity => "--target-density COLUMN",
        Remedy::TargetAction => "--target-action COLUMN",
        other => return other.to_string(),
    }
    .into()
}
