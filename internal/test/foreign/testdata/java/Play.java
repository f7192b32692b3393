import com.baomidou.mybatisplus.core.toolkit.Sequence;
import cn.hutool.core.lang.Snowflake;
import com.github.f4b6a3.tsid.TsidFactory;
import io.hypersistence.tsid.TSID;
import java.io.PrintStream;
import java.util.function.LongSupplier;

/** Prints IDs of a library: Play LIBRARY COUNT. Without variables the library chooses its own worker. */
public class Play {
	public static void main(String[] args) {
		LongSupplier next = switch (args[0]) {
			case "mybatis" -> { // the variables that Spring binds to mybatis-plus.global-config.sequence
				String prefix = "MYBATISPLUS_GLOBALCONFIG_SEQUENCE_", worker = System.getenv(prefix + "WORKERID");
				yield (worker == null ? new Sequence(null)
					: new Sequence(Long.parseLong(worker), Long.parseLong(System.getenv(prefix + "DATACENTERID"))))::nextId;
			}
			case "hutool" -> {
				String worker = System.getenv("WORKER");
				yield (worker == null ? new Snowflake()
					: new Snowflake(Long.parseLong(worker), Long.parseLong(System.getenv("DATACENTER"))))::nextId;
			}
			case "tsid-creator" -> { // reads TSIDCREATOR_NODE
				TsidFactory factory = new TsidFactory();
				yield () -> factory.create().toLong();
			}
			case "hypersistence-tsid" -> { // reads TSID_NODE
				TSID.Factory factory = TSID.Factory.newInstance1024();
				yield () -> factory.generate().toLong();
			}
			default -> throw new IllegalArgumentException(args[0]);
		};
		long[] ids = new long[Integer.parseInt(args[1])];
		System.out.println("ready");
		try {
			System.in.read(); // all copies begin together
		} catch (java.io.IOException e) {
			throw new java.io.UncheckedIOException(e);
		}
		for (int i = 0; i < ids.length; i++) {
			ids[i] = next.getAsLong();
		}
		PrintStream out = new PrintStream(new java.io.BufferedOutputStream(System.out, 1 << 16));
		for (long id : ids) {
			out.println(id);
		}
		out.flush();
	}
}
