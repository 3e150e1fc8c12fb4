"""Kubernetes through Dask: the image holds the package softcheck and the libraries; no folder is shared.

    pip install dask-kubernetes      (and its operator in the cluster)
    python kubernetes_dask.py plan.toml results registry.example/softcheck:0.3.0 /opt/kernels

The judge starts kernels in namespaces of their own where a container may; where it may not, the report of a single
judgement (`softcheck kernel`) says what is left of the isolation.
"""

import pathlib
import sys

from dask_kubernetes.operator import KubeCluster
from distributed import Client

from softcheck import campaign


def main(plan: str, out: str, image: str, kernels: str) -> int:
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "1", "memory": "10Gi"}}
    with KubeCluster(name="softcheck", image=image, n_workers=16, resources=resources) as cluster, Client(cluster) as client:
        return campaign.run(pathlib.Path(plan), pathlib.Path(out), client, kernels)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
