"""tclose: verified t-close microdata releases, from raw records to published files.

The path of the data: ``settings`` (the policy) -> ``storage`` (reads records) -> ``stages``
(summarise, plan, microaggregate, verify) over ``kernels`` (arrays only) -> ``storage`` (publishes),
driven pass by pass by ``execution``.
"""

__version__ = "0.1.0"
