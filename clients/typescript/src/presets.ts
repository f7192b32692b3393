import { Layout } from "./layout.js";

const table: readonly [name: string, fields: string, unitMs: number, epochAtMs: number, leaseOnly?: boolean][] = [
  ["baidu", "time:28,worker:22,sequence:13", 1000, 1_463_673_600_000],
  ["cap", "worker:10,time:41,sequence:12", 1, 1_288_834_974_657, true],
  ["cosid", "time:41,worker:10,sequence:12", 1, 1_577_203_200_000],
  ["default", "time:41,worker:10,sequence:12", 1, 1_735_689_600_000],
  ["discord", "time:42,datacenter:5,worker:5,sequence:12", 1, 1_420_070_400_000],
  ["hutool", "time:41,worker:10,sequence:12", 1, 1_288_834_974_657],
  ["instagram", "time:41,worker:13,sequence:10", 1, 1_314_220_021_721],
  ["jssafe", "time:41,worker:6,sequence:6", 1, 1_735_689_600_000],
  ["leaf", "time:41,worker:10,sequence:12", 1, 1_288_834_974_657],
  ["mastodon", "time:48,sequence:16", 1, 0],
  ["mybatis", "time:41,worker:10,sequence:12", 1, 1_288_834_974_657],
  ["netease", "time:41,worker:10,sequence:12", 1, 1_609_344_000_000],
  ["sonyflake", "time:39,sequence:8,worker:16", 10, 1_409_529_600_000],
  ["tsid", "time:42,worker:10,sequence:12", 1, 1_577_836_800_000, true],
  ["twitter", "time:41,datacenter:5,worker:5,sequence:12", 1, 1_288_834_974_657],
  ["yitter", "time:51,worker:6,sequence:6", 1, 1_582_136_402_000],
];

const made = new Map<string, Layout>();

/** presetNames holds the names of all presets. */
export const presetNames: readonly string[] = table.map(([name]) => name);

/** preset returns the layout of a well-known system, such as "twitter"; undefined for an unknown name. See {@link presetNames}. */
export function preset(name: string): Layout | undefined {
  const row = table.find(([known]) => known === name);
  let layout = made.get(name);
  if (layout === undefined && row !== undefined) {
    layout = new Layout({ name, fields: row[1], unitMs: row[2], epochAtMs: row[3], leaseOnly: row[4] ?? false });
    made.set(name, layout);
  }
  return layout;
}
