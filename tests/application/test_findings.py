"""Findings of files are returned, whatever is wrong with the files."""

from __future__ import annotations

import pytest

from restow.application.policies import lint_policies, validate_policies
from restow.application.simulating import check_scenarios
from restow.errors import InputError

BROKEN = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofils: []\n"


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path):
    policy, missing = tmp_path / "policy.yaml", tmp_path / "missing.yaml"
    policy.write_text(BROKEN)
    found = validate_policies([str(policy), str(missing), str(policy)])
    assert found.files == (str(policy), str(missing))
    assert found.has("error")
    assert [each.message for each in found.of(str(missing))] == ["No such file or directory"]
    assert any(each.hint == 'did you mean "profiles"?' for each in found.of(str(policy)))


@pytest.mark.parametrize("check", [validate_policies, lint_policies, check_scenarios])
def test_without_files_there_is_nothing_to_check(check):
    with pytest.raises(InputError, match="say which"):
        check([])
