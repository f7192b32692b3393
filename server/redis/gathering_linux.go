package redis

const (
	// maxGathering is the number of times that a loop looks for further connections before a departure, about 20 µs.
	maxGathering = 32
	// maxSkipped is the largest number of departures without gathering after gathering in vain.
	maxSkipped = 64
)

// gathering decides how long a departure waits for other connections. A call costs two or three members the same for one
// number as for many. A loop that departs whenever it is idle makes three times as many calls. Where no other connections
// come, departures stop waiting for them.
type gathering struct {
	looks, began int // looks since the last departure, and the connections that waited at the first look
	skip, skips  int // departures without gathering: those to come, and their number after the last gathering in vain
}

// longer reports whether the loop looks for other connections again while the given number of connections wait.
func (g *gathering) longer(waiting int) bool {
	if waiting == 0 || g.skip > 0 || g.looks >= maxGathering {
		return false
	}
	if g.looks == 0 {
		g.began = waiting
	}
	g.looks++
	return waiting < 2*g.began
}

// departed records the departure of conns connections.
func (g *gathering) departed(conns int) {
	switch {
	case conns == 0:
		return
	case g.skip > 0:
		g.skip--
	case g.looks > 0 && conns <= g.began:
		g.skips = min(2*g.skips+1, maxSkipped)
		g.skip = g.skips
	default:
		g.skips = 0
	}
	g.looks, g.began = 0, 0
}
