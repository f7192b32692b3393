//go:build process

package processtest

func init() {
	promises = []promise{
		{"A killed member issues again within 1 s", TestKilledMemberIssuesWithinASecond},
		{"While members are killed, the others keep issuing, and no ID twice", TestKillEachMember},
		{"A leader that stops finishes its requests", TestShutdownUnderLoad},
		{"A member without quorum issues until its window ends", TestLostQuorum},
		{"A member whose clock is behind issues nothing", TestThriftClockBehind},
		{"A cluster restored from a backup issues nothing twice", TestRestore},
		{"A cluster is restored from the directory of one member", TestRecover},
		{"Members with a secret refuse strangers", TestSecuredCluster},
		{"A deleted token gets nothing", TestRevocationStopsIssuing},
		{"The secret is replaced without a failed call", TestSecretRotationUnderLoad},
		{"Strict numbers are linearizable", TestStrictSequence},
		{"A killed member costs a relaxed sequence its blocks only", TestRelaxedSequence},
		{"Members of two versions are upgraded one by one", TestMixedVersions},
		{"Members join and leave", TestMembership},
		{"A copy of a data directory issues nothing", TestCopiedDataDirectory},
		{"Redis clients work unchanged", TestRedisClients},
		{"Gateways hide the loss of members", TestGatewaysHideKills},
		{"dev needs no flag", TestDev},
		{"The quick start runs in a fresh clone", TestQuickStart},
		{"The README shows what the program prints", TestReadme},
	}
}
