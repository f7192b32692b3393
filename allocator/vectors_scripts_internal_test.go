package allocator

// The layouts of the scripts, and the start of their clocks: day is 2026-12-01T00:00:00Z, and dayTick its tick in the default layout;
// ordinary.
const (
	defaultEpoch = 1_735_689_600_000
	day          = 1_796_083_200_000
	mono         = 50_000
	dayTick      = day - defaultEpoch
)

func ordinaryLayout() layoutSpec { return layoutOf("default", 41, 10, 12, 1, defaultEpoch, 1024) }
func spreadLayout() layoutSpec   { return layoutOf("tiny", 41, 3, 3, 1, defaultEpoch, 8) }
func plainLayout() layoutSpec    { return layoutOf("plain", 41, 3, 3, 1, defaultEpoch, 1) }

func layoutOf(name string, time, worker, sequence uint8, unit, epoch int64, spread uint64) layoutSpec {
	return layoutSpec{name, []fieldSpec{{"time", time}, {"worker", worker}, {"sequence", sequence}}, unit, epoch, spread}
}

// at sets both clocks to a time after the start.
func at(ms int64) step { return step{Clock: &reading{day + ms, mono + ms}} }

// apart sets the wall clock and the monotonic clock to different times after the start.
func apart(wall, monotonic int64) step { return step{Clock: &reading{day + wall, mono + monotonic}} }

func next(count int) step { return step{Next: count} }

// above takes an ID greater than that of a cell of any worker in a layout with 3 bits each of worker and sequence, whose tick is counted
// from the start.
func above(tick int64, worker, sequence uint64) step {
	return aboveID(uint64(dayTick+tick)<<6 | worker<<3 | sequence)
}

func aboveID(id uint64) step { return step{Next: 1, After: id} }

// member is the answer of a member whose clock shows a time after the start.
func member(id string, clock, observed int64) step {
	return step{Member: &memberAnswer{ID: id, Clock: day + clock, Observed: day + observed}}
}

// renewed is a renewal that is granted a window, in ticks after the start.
func renewed(worker, token uint64, from, until int64) step {
	return granted(worker, token, dayTick+from, dayTick+until, 0)
}

func granted(worker, token uint64, from, until, observed int64) step {
	return step{Renew: true, Answer: &answer{Grant: &grantJSON{worker, token, from, until, observed, threshold, 600_000, false}}}
}

func failed(reason string) step { return step{Renew: true, Answer: &answer{Error: reason}} }

func windowScripts() []*script {
	check, idle, lost := step{Check: true}, step{Renew: true}, step{Renew: true, Answer: &answer{Lost: true}}
	closing := step{Close: true}
	ordinarily := reading{day, mono}
	return []*script{
		{"ordinary", "A window is granted, used, extended and released.", ordinaryLayout(), ordinarily, []step{
			next(1), renewed(5, 17, 0, 2000), next(3), at(1), next(2), at(700), next(1), renewed(5, 17, 0, 5000), at(4999), next(1), closing, next(1),
		}},
		{"full tick", "A full tick carries over into later ticks, at most 5 ms ahead of the clock.", spreadLayout(), ordinarily, []step{
			renewed(1, 2, 0, 2000), next(60), at(1), next(60), at(3), next(60), at(100), next(2),
		}},
		{"long ticks", "A layout whose tick is longer than 5 ms never issues ahead of the clock.", layoutOf("seconds", 32, 3, 3, 1000, defaultEpoch, 1), ordinarily, []step{
			granted(1, 2, dayTick/1000, dayTick/1000+10, 0), next(10), at(999), next(1), at(1000), next(1),
		}},
		{"end of the window", "Nothing is issued from the end on, until a later end is granted.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 100), next(1), at(99), next(1), at(100), next(1), failed("NO_LEADER"), next(1), renewed(1, 2, 0, 300), next(1), at(299), next(9), at(300), next(1),
		}},
		{"end while ahead", "Cells ahead of the clock end with the window too.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 3), next(60), at(1), next(1), renewed(1, 2, 0, 100), next(60),
		}},
		{
			"lost reply", "An extension without an answer is repeated with its ID and its end. The answer is the window that the first request got.", plainLayout(), ordinarily,
			[]step{
				renewed(1, 2, 0, 100), next(1), at(90), lost, next(1), at(100), next(1), lost, next(1), renewed(1, 2, 0, 150), next(1), at(150), next(1),
				renewed(1, 2, 0, 400), next(1),
			},
		},
		{"lost reply, too late", "The repetition gets a window that has ended. Only the next extension, with a new ID, helps.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 100), next(1), at(90), lost, at(1000), next(1), renewed(1, 2, 0, 500), next(1), renewed(1, 2, 0, 3000), next(1),
		}},
		{"lost acquisition", "An acquisition without an answer is not repeated: the next request is a new one, for any worker.", plainLayout(), ordinarily, []step{
			lost, next(1), renewed(4, 9, 0, 100), next(1),
		}},
		{"another holder", "The cluster refuses an extension. The rest of the window stays good, and the lane acquires another worker.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 100), next(1), at(50), failed("WINDOW_MISMATCH"), next(2), at(60), renewed(3, 7, 10, 500), next(2), closing,
		}},
		{"another holder, after the end", "A lost worker is not released.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 100), next(1), at(50), failed("WINDOW_MISMATCH"), at(100), next(1), closing, next(1),
		}},
		{"another holder, after a burst", "The next lease begins after the last tick that the lane has used.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 100), next(30), failed("WINDOW_MISMATCH"), renewed(3, 7, 0, 500), next(1), closing,
		}},
		{"no worker free", "The reason of a refusal is the reason of the cluster.", plainLayout(), ordinarily, []step{
			failed("WORKERS_EXHAUSTED"), next(1), renewed(1, 2, 0, 100), next(1),
		}},
		{"impossible grants", "A grant that cannot be right changes nothing.", plainLayout(), ordinarily, []step{
			renewed(8, 2, 0, 100), renewed(1, 0, 0, 100), renewed(1, 2, 100, 100), renewed(1, 2, 100, 0), granted(1, 2, -1, 100, 0), granted(1, 2, 0, 1<<41+1, 0), next(1),
			renewed(1, 2, 0, 100), next(1), renewed(2, 2, 0, 200), renewed(1, 3, 0, 200), renewed(1, 2, 0, 99), at(99), next(1), at(100), next(1), renewed(1, 2, 0, 300), next(1),
		}},
		{"window in the future", "A window that begins later is used from its start on.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 20, 100), next(1), at(14), next(1), at(15), next(2), at(20), next(1), closing,
		}},
		{"release of nothing", "A window without an ID is released from its start on.", plainLayout(), ordinarily, []step{renewed(1, 2, 3, 100), at(50), closing}},
		{"release while ahead", "The next tick is after the last tick that was used, also ahead of the clock.", plainLayout(), ordinarily, []step{renewed(1, 2, 0, 100), next(30), closing}},
		{"first ID", "The number 0 is never issued.", layoutOf("new", 41, 3, 3, 1, day, 1), ordinarily, []step{granted(0, 1, 0, 100, 0), next(2)}},
		{"end of the layout", "The last tick of the time field is used, and nothing after it.", layoutOf("short", 20, 3, 3, 1, day-1<<20+10, 1), ordinarily, []step{
			granted(1, 2, 1<<20-10, 1<<20, 0), next(1), at(9), next(9), at(10), next(1),
		}},
		{"clock a little behind", "A clock that is behind by less than the wait threshold reaches the next free tick without a correction.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), at(2000), next(1), apart(1500, 2000), next(1), apart(1990, 2490), next(1), apart(1996, 2496), next(1), apart(2000, 2500), next(9),
		}},
		{"clock far behind", "A clock that is behind by more than the wait threshold refuses, and nothing is requested.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), at(2000), next(1), apart(900, 2000), next(1), idle, apart(1100, 2200), next(1), apart(2200, 2300), next(1),
		}},
		{"behind after a burst", "The next free cell may itself be ahead of the clock. Its distance decides.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), next(48), apart(-900, 10), next(1), apart(-995, 20), next(1), apart(-996, 30), next(1),
		}},
		{"clock before the epoch", "Such a clock is behind.", layoutOf("new", 41, 3, 3, 1, day, 1), reading{day - 2000, mono}, []step{next(1), idle}},
		{"clock ahead", "A clock that jumped ahead of the monotonic clock by more than the limit refuses at once.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), next(1), member("a", 0, -20), next(1), apart(501, 1), next(1), apart(503, 2), next(1), idle, apart(1500, 1000), next(1), check, next(1), apart(1100, 1100), next(1),
		}},
		{"clock always ahead", "The clock of a member shows that this clock was wrong from the start.", plainLayout(), reading{day + 5000, mono}, []step{
			renewed(1, 2, 0, 10_000), next(1), member("a", 0, -20), next(1), idle, apart(0, 0), next(1), member("b", 0, -20), apart(5001, 5001), next(1),
		}},
		{"clock creeps", "Small corrections move the clock that is expected, because each check notes them.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), apart(1240, 1000), check, next(1), apart(2480, 2000), check, next(1), apart(3720, 3000), check, next(1), apart(4971, 4000), next(1), check, apart(5471, 4250), next(1),
		}},
		{"small jump past the end", "A jump ahead within the limit ends the window.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 400), next(1), apart(400, 1), next(1), renewed(1, 2, 0, 5000), next(1),
		}},
		{"monotonic clock stands still", "The wall clock then seems ahead.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), apart(500, 0), next(1), apart(501, 0), next(1), at(501), next(1),
		}},
		{"observed clock a little ahead", "The first ID waits until the clock has passed the observed clock at the grant.", plainLayout(), ordinarily, []step{
			granted(1, 2, dayTick, dayTick+10_000, day+300), next(1), at(295), next(1), at(296), next(1), at(301), next(8),
		}},
		{"observed clock far ahead", "This clock is behind.", plainLayout(), ordinarily, []step{
			granted(1, 2, dayTick, dayTick+10_000, day+1001), next(1), idle, at(1), next(1), check, next(1), apart(1400, 1), next(1), apart(1410, 1410), next(1),
		}},
		{"observed clock advances", "Each check moves the observed clock by the monotonic clock, so that a clock that is set back is noticed.", plainLayout(), ordinarily, []step{
			granted(1, 2, dayTick, dayTick+10_000, day), at(1), next(1), apart(1, 1100), next(1), check, next(1), apart(1200, 1200), next(1),
		}},
		{"observed clock lowered", "A member reports a lower observed clock, because an operator set it back.", plainLayout(), ordinarily, []step{
			granted(1, 2, dayTick, dayTick+10_000, day+3000), next(1), member("a", 0, 0), next(1), at(1), next(1),
		}},
		{"floor", "Each ID is greater than the floor, and the others continue after it.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), above(0, 0, 7), above(0, 0, 7), above(0, 1, 3), above(0, 1, 7), above(1, 0, 7), above(1, 1, 5), next(1), above(2, 2, 0),
			{Next: 12, After: uint64(dayTick+3)<<6 | 1<<3 | 6}, above(5, 0, 0), next(1),
		}},
		{"floor ahead of the clock", "The call waits, and the position stays.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), next(1), above(5, 1, 7), above(6, 0, 0), above(900, 1, 6), next(1), at(894), above(900, 1, 6), at(895), above(900, 1, 6), next(1),
		}},
		{"floor far ahead of the clock", "From the wait threshold on, it is an error of the clock, and beyond what any clock can be ahead, one of the floor.", plainLayout(), ordinarily, []step{
			member("a", 0, -20), above(1506, 0, 0), renewed(1, 2, 0, 10_000), next(1), above(1000, 0, 0), above(1001, 0, 0), above(1505, 0, 0), above(1506, 0, 0),
			aboveID(1<<47 - 1), aboveID(1 << 47), aboveID(1<<63 + 1), aboveID(1<<64 - 1), next(1),
		}},
		{"floor and the observed clock", "A member whose clock is the observed one can have issued a later floor.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 10_000), member("a", 0, 900), above(2405, 0, 0), above(2406, 0, 0), member("a", 0, -900), above(1505, 0, 0), above(1506, 0, 0),
		}},
		{"floor and a clock that is not trusted", "Until the clock was compared, while the only member contradicts it, and while it is behind, the clock may be what is wrong.", plainLayout(), ordinarily, []step{
			above(2000, 0, 0), renewed(1, 2, 0, 10_000), next(1), above(2000, 0, 0), aboveID(1 << 47), member("a", 2000, -20), above(2000, 0, 0), member("b", 0, -20),
			above(2000, 0, 0), apart(499, 1000), above(2499, 0, 0), apart(500, 1000), above(2500, 0, 0), next(1),
		}},
		{"floor near the end of the window", "The first cell above the floor is beyond the window, which refuses only this call.", plainLayout(), ordinarily, []step{
			renewed(1, 2, 0, 3), above(2, 1, 6), above(2, 1, 7), above(2, 2, 0), renewed(1, 2, 0, 100), above(2, 2, 0), next(1),
		}},
		{"floor in a long tick", "The next tick is not too far ahead, however late it begins.", layoutOf("minutes", 30, 3, 3, 60_000, day, 1), ordinarily, []step{
			member("a", 0, -20), granted(1, 2, 0, 10, 0), next(1), aboveID(7<<3 | 7), aboveID(1<<6 | 7<<3 | 7), aboveID(2 << 6), at(60_000), aboveID(7<<3 | 7), next(1),
		}},
		{"floor in the last tick", "No ID of this worker is left above it.", layoutOf("short", 20, 3, 3, 1, day-1<<20+10, 1), ordinarily, []step{
			granted(1, 2, 1<<20-10, 1<<20, 0), at(9), aboveID(1<<26 - 1 - 7<<3), aboveID(1<<26 - 1 - 6<<3), aboveID(1<<26 - 1), next(8),
		}},
		{"floor with the worker below the sequence", "IDs of one tick follow their sequence.", layoutSpec{
			"low", []fieldSpec{{"time", 41}, {"sequence", 3}, {"worker", 3}}, 1, defaultEpoch, 1,
		}, ordinarily, []step{
			renewed(4, 2, 0, 10_000), aboveID(dayTick<<6 | 2<<3 | 3), aboveID(dayTick<<6 | 4<<3 | 4), aboveID(dayTick<<6 | 6<<3 | 5), aboveID(dayTick<<6 | 7<<3 | 5), next(1),
		}},
		{"floor and a closed generator", "The generator is closed, whatever the floor.", plainLayout(), ordinarily, []step{renewed(1, 2, 0, 100), {Close: true}, above(2000, 0, 0)}},
	}
}
