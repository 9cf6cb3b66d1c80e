"""Where the reports of a shadow go."""

from __future__ import annotations

import json

import pytest

from restow.application.shadow_reports import report_writer
from restow.errors import InputError
from restow.shadowing.day import ShadowDay


def test_a_day_is_a_page_and_a_json_file_that_later_ones_replace(tmp_path):
    write = report_writer(str(tmp_path / "reports"), "policy.yaml")
    for until in (60.0, 120.0):
        write(ShadowDay(0.0, until), "https://api:6443")
    files = sorted((tmp_path / "reports").iterdir())
    assert [each.name for each in files] == ["1970-01-01T00-00-00Z.html", "1970-01-01T00-00-00Z.json"]
    assert json.loads(files[1].read_bytes())["metadata"]["until"] == "1970-01-01T00:02:00Z"


def test_a_directory_that_cannot_be_used(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match=r"--shadow-reports .*file: File exists"):
        report_writer(str(file), "")
