package attacks

import (
	"context"
	"slices"

	"github.com/google/uuid"
)

// gossipNoise sends random datagrams, with and without the label of members.
func (v visit) gossipNoise(ctx context.Context) {
	for range v.some(50) {
		_ = Datagrams(v.from(ctx), v.Target.Gossip, v.noise(1400), labeled(v.noise(1400)))
	}
}

// gossipReplay repeats captured datagrams of members, twice in full and once cut short.
func (v visit) gossipReplay(ctx context.Context) {
	if len(v.Captured) == 0 {
		return
	}
	for range v.some(50) {
		said := v.Captured[v.IntN(len(v.Captured))]
		_ = Datagrams(v.from(ctx), v.Target.Gossip, said, said, said[:v.IntN(len(said))])
	}
}

// gossipExchanges repeatedly exchanges states as a node of another cluster, and reads the answers or not.
func (v visit) gossipExchanges(ctx context.Context) {
	for range v.some(40) {
		from := stranger()
		from.Cluster = uuid.NewString()
		said := labeled(exchange(1+v.IntN(100), slices.Repeat([]state{from.state()}, 1+v.IntN(20))...))
		conn, err := dial(v.from(ctx), "tcp", v.Target.Gossip)
		if err != nil {
			return
		}
		_, _ = conn.Write(said)
		if v.IntN(2) == 0 {
			_, _ = conn.Read(make([]byte, 64<<10))
			_ = conn.Close()
		}
	}
	<-ctx.Done()
}

// gossipBomb sends, with a probability of 1/4, a datagram that grows when a member unpacks it. The datagram is rare
// because it takes the stranger much processor time.
func (v visit) gossipBomb(ctx context.Context) {
	if v.IntN(4) == 0 {
		_ = NestedCompression(ctx, v.Target.Gossip)
	}
}

func (v visit) shortVersions(ctx context.Context) { _ = ShortVersions(ctx, v.Target.Gossip) }

func (v visit) millionNodes(ctx context.Context) {
	_ = MillionNodes(ctx, v.Target.Gossip, v.some(20))
	<-ctx.Done()
}
