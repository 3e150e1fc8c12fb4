"""Which size of shards keeps a thousand workers busy: a simulation, not a measurement.

    python simulated_scale.py

Judgements take random times (lognormal), a scheduler hands out one shard after the other, each shard costs its worker a
random delay, and workers die at random and come back. A shard whose worker dies is judged again from its beginning.
The efficiency is the time that judgements take over the time that the workers are held.
"""

import dataclasses
import heapq
import random


@dataclasses.dataclass
class Cluster:
    workers: int = 1000
    dispatch: float = 0.001  # seconds that the scheduler is busy with a shard
    delay: float = 0.1  # mean seconds between a shard's end and the next one's begin, exponential
    deaths: float = 0.01  # share of workers that die in `period` seconds of work
    period: float = 600.0
    absence: float = 120.0  # mean seconds until another worker takes a dead one's place, exponential


@dataclasses.dataclass
class Judgements:
    count: int = 400_000
    mean: float = 2.0  # seconds
    spread: float = 1.0  # of the logarithm of the seconds


@dataclasses.dataclass
class Result:
    efficiency: float
    seconds: float  # until the last shard's end
    deaths: int


def shards_of(judgements: Judgements, size: int, dice: random.Random) -> list[float]:
    """Seconds of each shard."""
    centre = judgements.mean / 2.718281828459045 ** (judgements.spread**2 / 2)
    times = [centre * dice.lognormvariate(0, judgements.spread) for _ in range(judgements.count)]
    return [sum(times[first : first + size]) for first in range(0, len(times), size)]


def simulate(cluster: Cluster, judgements: Judgements, size: int, seed: int = 20241001) -> Result:
    """One campaign."""
    dice = random.Random(seed)
    waiting = shards_of(judgements, size, dice)[::-1]
    useful = sum(waiting)
    hazard = cluster.deaths / cluster.period  # of a worker, a second
    # What happens next: (time, number, shard that ends then or None, whether its worker dies with it).
    events = [(0.0, worker, None, False) for worker in range(cluster.workers)]
    idle: list[int] = []
    busy_until, last, deaths = 0.0, 0.0, 0

    def begin(now: float, worker: int) -> None:
        nonlocal busy_until
        shard = waiting.pop()
        busy_until = max(busy_until, now) + cluster.dispatch
        start = busy_until + (dice.expovariate(1 / cluster.delay) if cluster.delay > 0 else 0)
        alive = dice.expovariate(hazard) if hazard > 0 else float("inf")
        dies = alive < shard
        heapq.heappush(events, (start + min(alive, shard), worker, shard, dies))

    while events:
        now, worker, shard, died = heapq.heappop(events)
        if shard is not None and not died:
            last = now
        if died:
            deaths += 1
            waiting.append(shard)
            heapq.heappush(events, (now + dice.expovariate(1 / cluster.absence), worker, None, False))
            if idle:  # one that has nothing to do takes the shard
                begin(now, idle.pop())
        elif waiting:
            begin(now, worker)
        else:
            idle.append(worker)
    return Result(useful / (cluster.workers * last), last, deaths)


def main() -> None:
    cluster, judgements = Cluster(), Judgements()
    print(f"{cluster}\n{judgements}\nshard  efficiency  seconds  deaths")
    for size in (1, 2, 5, 10, 20, 50, 100, 200):
        result = simulate(cluster, judgements, size)
        print(f"{size:5}  {result.efficiency:10.3f}  {result.seconds:7.0f}  {result.deaths:6}")


if __name__ == "__main__":
    main()
