package fsm

// pieceWorkers is the number of workers that are copied for the first change after a snapshot.
const pieceWorkers = 16

// roll holds the workers [0, count) of a layout. A clone shares pieces with the original until either changes them, so
// commands do not wait for a copy of millions of workers.
type roll struct {
	pieces []*piece
	total  int
	era    *era // of pieces that are not shared
}

type piece struct {
	era     *era
	workers [pieceWorkers]worker
}

// era is the time between two clones. It is known by its address.
type era struct{ _ byte }

// count returns how many workers there are.
func (r *roll) count() int { return r.total }

// see returns a worker, which must not be changed, and not be kept for longer than nothing is changed.
func (r *roll) see(number int) *worker {
	return &r.pieces[number/pieceWorkers].workers[number%pieceWorkers]
}

// at returns a worker that may be changed. The caller must be alone with the state.
func (r *roll) at(number int) *worker {
	p := r.pieces[number/pieceWorkers]
	if p.era != r.era {
		own := *p
		own.era = r.era
		p = &own
		r.pieces[number/pieceWorkers] = p
	}
	return &p.workers[number%pieceWorkers]
}

// append adds a worker at the end.
func (r *roll) append(k worker) {
	if r.total%pieceWorkers == 0 {
		r.pieces = append(r.pieces, &piece{era: r.era})
	}
	r.total++
	*r.at(r.total - 1) = k
}

// clone returns a copy. The caller must be alone with the state.
func (r *roll) clone() roll {
	r.era = &era{}
	return roll{pieces: append([]*piece(nil), r.pieces...), total: r.total, era: &era{}}
}
