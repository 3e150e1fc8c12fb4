"""Works timed in turns, so that what else the machine does meets them alike."""


def least_seconds(works, rounds, clock):
    """The least processor time of each work; the works take turns, one round more warms caches."""
    best = [float("inf")] * len(works)
    for r in range(rounds + 1):
        for i, work in enumerate(works):
            start = clock()
            work()
            if r > 0:
                best[i] = min(best[i], clock() - start)
    return best
