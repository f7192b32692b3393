package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func (im image) walkTemplates(visit func(*commandv1.SnapshotRecord)) {
	for _, t := range im.templates {
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Template{Template: &commandv1.SnapshotTemplate{
			Spec: t.message(), CreatedAtMs: t.created, Generation: t.generation, Suspended: t.suspended, Start: t.start,
		}}})
	}
}
