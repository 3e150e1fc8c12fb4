"""Measures works in turns, so that other load of the machine affects them alike."""


def least_seconds(works, rounds, clock):
    """The least processor time of each work. The works take turns; one extra round warms the caches."""
    best = [float("inf")] * len(works)
    for r in range(rounds + 1):
        for i, work in enumerate(works):
            start = clock()
            work()
            if r > 0:
                best[i] = min(best[i], clock() - start)
    return best
