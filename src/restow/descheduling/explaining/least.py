"""The smallest set of changes with which a plan moves the pod: no step too many, no amount too large."""

from __future__ import annotations

from dataclasses import dataclass

from restow.descheduling.explaining.allowing import Allowing
from restow.descheduling.explaining.trials import PLENTY, Remedy, Trials
from restow.descheduling.placement import PluginRef

#: Changes that are made together.
Together = tuple[Remedy, ...]

#: Refusals answered one after the other.
_MOST_ANSWERS = 5


@dataclass(slots=True, frozen=True)
class Search:
    """Searches for the smallest set by trials about one pod."""

    trials: Trials
    allowing: Allowing
    #: The strategy whose refusals are lifted.
    ref: PluginRef

    def least(self, together: Together) -> Together | None:
        """These changes and those that a plan with them still needs; None if the pod stays, or if fewer changes are enough."""
        found = self._completed(together)
        if found is None:
            return None
        fewer, lowered = self._needed(found), None
        while lowered is None or len(fewer) < len(lowered):
            # With smaller amounts other pods stay, which may make another step needless.
            lowered = self._lowered(fewer)
            if lowered is None:
                return None
            fewer = self._needed(lowered)
        return lowered if self.is_least(lowered) else None

    def is_least(self, together: Together) -> bool:
        """Whether the pod moves with these changes and their rounded amounts, and stays if any of them is smaller."""
        if not self.trials.moves(together) or len(self._needed(together)) < len(together):
            return False
        for index, each in enumerate(together):
            if each.rounded is not None and not self.trials.moves(_with(together, index, each.rounded)):
                return False
            if any(self.trials.moves(_with(together, index, less)) for less in each.weaker):
                return False
        return True

    def _completed(self, together: Together) -> Together | None:
        """The changes, and those that lift the refusals that then come up, one after the other."""
        for _ in range(_MOST_ANSWERS):
            outcome = self.trials.of(together)
            if outcome.move is not None:
                return together
            refusal = outcome.refusals.get(self.ref)
            more = None if refusal is None else self.allowing.after(refusal)
            if more is None or any(more.step == each.step for each in together):
                return None
            together = (*together, more)
        return None

    def _needed(self, together: Together) -> Together:
        """The changes without those that the pod can move without."""
        for each in together:
            fewer = tuple(other for other in together if other is not each)
            if fewer and self.trials.moves(fewer):
                together = fewer
        return together

    def _lowered(self, together: Together) -> Together | None:
        """The changes with the smallest amounts that are enough."""
        for index, each in enumerate(together):
            for place in range(len(each.amounts)):
                lower = self._lowest(together, index, place)
                if lower is None:
                    return None
                together = lower
            if each.at is not None:
                together = _with(together, index, together[index].with_weaker())
        return together

    def _lowest(self, together: Together, index: int, place: int) -> Together | None:
        """The changes with the smallest amount in one place, found by bisection; None if no amount is enough."""
        remedy = together[index]

        def at(amount: int) -> Together:
            return _with(together, index, remedy.with_amount(place, amount))

        low, high = remedy.lowest[place], remedy.amounts[place]
        if high == PLENTY:
            # One more is mostly enough, and in a large cluster each trial takes long. If it is not: without the limit the plan
            # makes so many evictions, so that is the highest amount worth trying.
            if self.trials.moves(at(low + 1)):
                return at(low + 1)
            high = max(low + 1, self.trials.of(together).evictions)
            if not self.trials.moves(at(high)):
                return None
        # Bisection finds the smallest amount only if the pod also moves with every larger one. That is not certain, for a
        # larger amount also lets other pods move. So ``is_least`` tries what was found once more.
        tried = [each for guess in remedy.guess[place : place + 1] for each in (guess, guess - 1)]
        tried.append(high - 1)
        while high - low > 1:
            middle = tried.pop(0) if tried else (low + high) // 2
            if low < middle < high:
                low, high = (low, middle) if self.trials.moves(at(middle)) else (middle, high)
        return at(high)


def _with(together: Together, index: int, remedy: Remedy) -> Together:
    return (*together[:index], remedy, *together[index + 1 :])
