"""Gradient-boosted models that are trained on one table and tested on records held out.

They have one thread each: those of a machine that has other work wait for each other.
"""

from importlib.util import find_spec

import numpy as np

from tclose.model.array_types import Float64

MISSING = (
    "**Not measured: the models, because scikit-learn is not installed; `make test` installs "
    "it from requirements-dev.lock.**"
)


def has_sklearn() -> bool:
    """Return whether models can be trained."""
    return find_spec("sklearn") is not None


def score_numbers(
    train: tuple[Float64, Float64], test: tuple[Float64, Float64], n_numbers: int
) -> float:
    """R squared on the test records, of a number that is predicted.

    Parameters
    ----------
    train, test : features float64 (n, d), of which the first ``n_numbers`` are numbers and the
        others codes of categories, and what is predicted (n,)
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingRegressor(
        random_state=0, categorical_features=_which(train[0], n_numbers)
    )
    with threadpool_limits(1):
        return float(model.fit(*train).score(*test))


def score_categories(
    train: tuple[Float64, Float64], test: tuple[Float64, Float64], n_numbers: int
) -> float:
    """Area under the ROC curve on the test records, of each category against the others, weighed.

    Parameters are those of `score_numbers`; what is predicted are codes.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingClassifier(
        random_state=0, categorical_features=_which(train[0], n_numbers)
    )
    with threadpool_limits(1):
        shares = model.fit(*train).predict_proba(test[0])
    if shares.shape[1] == 2:
        return float(roc_auc_score(test[1], shares[:, 1]))
    return float(
        roc_auc_score(test[1], shares, multi_class="ovr", average="weighted", labels=model.classes_)
    )


def _which(features: Float64, n_numbers: int) -> list[int]:
    return list(range(n_numbers, np.shape(features)[1]))
