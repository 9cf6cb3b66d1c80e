"""ImageLocality against the rows of upstream's own tests (D)."""

from __future__ import annotations

import pytest

from builders import a_container, a_node, a_pod
from restow.scheduling.plugins.image_locality import ImageLocality
from scheduling.plugins.asking import INCOMING, a_context, pod_index, scores


def holding(name, *sizes):
    """A node with images named after their size in MiB."""
    return a_node(name, images={f"{size}:latest": size << 20 for size in sizes})


def others(count):
    return [a_node(f"other{number:02}") for number in range(count)]


SMALL, MIXED, THREE, HUGE = (250, 10), (40, 300, 2000), (20, 30, 40), (4000, 30)
AFTER_INIT = {"init_containers": [a_container(image="300")]}

#: Images of the pod's containers, whatever else it has, the nodes, and the scores of the first ones.
ROWS = {
    "D01": (["40", "250"], {}, [holding("n1", *MIXED), holding("n2", *SMALL)], [0, 5]),
    "D06": (["30", "40"], {}, [holding("n1", *THREE), holding("n2", *HUGE)], [1, 0]),
    "D07": (["30"], AFTER_INIT, [holding("n1", *MIXED), holding("n2", *THREE)], [6, 0]),
    "D09": (["500"], {}, [holding("n1", 500), *others(99)], [0]),
}


@pytest.mark.parametrize(("images", "more", "nodes", "expected"), ROWS.values(), ids=ROWS)
def test_nodes_score_by_the_images_that_they_have(images, more, nodes, expected):
    context = a_context(*nodes, a_pod(INCOMING, images=images, **more))
    asked = [node["metadata"]["name"] for node in nodes[: len(expected)]]
    assert scores(context, ImageLocality(context), pod_index(context), asked) == expected


def test_images_of_volumes_count_but_allow_no_more():
    """Two images of 500 MiB for one container are as good as one of 1000 MiB, which is the most."""
    volumes = [{"name": "v", "image": {"reference": "500"}}]
    context = a_context(holding("n1", 500), a_pod(INCOMING, images=["500"], volumes=volumes))
    assert scores(context, ImageLocality(context), pod_index(context)) == [100]
