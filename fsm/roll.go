package fsm

// pieceWorkers is the number of workers of a piece, which the first change after a snapshot copies.
const pieceWorkers = 16

// roll holds the workers [0, count) of a layout. A clone shares pieces with the original until either changes them, so
// commands do not wait for a copy of millions of workers.
type roll struct {
	pieces []*piece
	total  int
	era    *era // era of the pieces that are not shared
}

type piece struct {
	era     *era
	workers [pieceWorkers]worker
}

// era is the time between two clones. Its address identifies it.
type era struct{ _ byte }

// count returns the number of workers.
func (r *roll) count() int { return r.total }

// see returns a worker for reading. The caller must not change it, and must not keep it beyond the next change.
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
