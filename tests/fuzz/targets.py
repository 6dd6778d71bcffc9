"""All targets by name. A new one is one entry in the table of its family."""

from tests.fuzz import file_targets, http_targets, monitor_targets, talk_targets, text_targets
from tests.fuzz.target import Target

FAMILIES = (text_targets, file_targets, monitor_targets, talk_targets, http_targets)
TARGETS: dict[str, Target] = {
    target.name: target for family in FAMILIES for target in family.TARGETS
}
