package console

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// API holds the clients of the public API that pages read. The contexts of its calls carry the principal of the
// viewer.
type API struct {
	View         snowraftv1.ViewServiceClient
	IDs          snowraftv1.IdServiceClient
	Layouts      snowraftv1.LayoutServiceClient
	Workers      snowraftv1.WorkerServiceClient
	Backfills    snowraftv1.BackfillServiceClient
	Sequences    snowraftv1.SequenceServiceClient
	Reservations snowraftv1.ReservationServiceClient
	Templates    snowraftv1.TemplateServiceClient
}

func newAPI(conn grpc.ClientConnInterface) *API {
	return &API{
		View: snowraftv1.NewViewServiceClient(conn), IDs: snowraftv1.NewIdServiceClient(conn),
		Layouts: snowraftv1.NewLayoutServiceClient(conn), Workers: snowraftv1.NewWorkerServiceClient(conn),
		Backfills: snowraftv1.NewBackfillServiceClient(conn), Sequences: snowraftv1.NewSequenceServiceClient(conn),
		Reservations: snowraftv1.NewReservationServiceClient(conn), Templates: snowraftv1.NewTemplateServiceClient(conn),
	}
}

func isUnauthenticated(err error) bool { return rpc.FromError(err).Code == codes.Unauthenticated }

// isDenied reports whether the viewer lacks a right.
func isDenied(err error) bool {
	return err != nil && (isUnauthenticated(err) || rpc.FromError(err).Code == codes.PermissionDenied)
}
