package share

const (
	// maxGathering is the number of looks for further requests before a call, about 5 µs on an idle machine.
	maxGathering = 8
	// maxSkipped is the largest number of calls without gathering after gathering in vain.
	maxSkipped = 1024
)

// gathering decides how long a call waits for further requests. A call costs two or three members the same for one number as
// for many, and calls that begin at once serve a quarter as many requests each. Where no further requests come, calls stop
// waiting for them.
type gathering struct {
	looks, began int // looks since the last call, and the requests that waited at the first look
	skip, skips  int // calls without gathering: those to come, and their number after the last gathering in vain
}

// longer reports whether a call waits longer for further requests while the given number of requests wait.
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

// ended records that a call begins with a number of requests.
func (g *gathering) ended(requests int) {
	switch {
	case requests == 0:
		return
	case g.skip > 0:
		g.skip--
	case g.looks > 0 && requests <= g.began:
		g.skips = min(2*g.skips+1, maxSkipped)
		g.skip = g.skips
	default:
		g.skips = 0
	}
	g.looks, g.began = 0, 0
}
