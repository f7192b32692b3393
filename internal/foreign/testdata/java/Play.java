import com.baomidou.mybatisplus.core.toolkit.Sequence;
import cn.hutool.core.lang.Snowflake;
import com.github.f4b6a3.tsid.TsidFactory;
import io.hypersistence.tsid.TSID;
import java.io.PrintStream;
import java.util.function.LongSupplier;

/** Prints IDs of a library: Play LIBRARY COUNT [DATACENTER WORKER]. Without numbers the library chooses its own. */
public class Play {
	public static void main(String[] args) {
		boolean given = args.length == 4;
		int datacenter = given ? Integer.parseInt(args[2]) : 0, worker = given ? Integer.parseInt(args[3]) : 0;
		int node = datacenter << 5 | worker;
		LongSupplier next = switch (args[0]) {
			case "mybatis" -> (given ? new Sequence(worker, datacenter) : new Sequence(null))::nextId;
			case "hutool" -> (given ? new Snowflake(worker, datacenter) : new Snowflake())::nextId;
			case "tsid-creator" -> {
				TsidFactory factory = given ? TsidFactory.newInstance1024(node) : new TsidFactory();
				yield () -> factory.create().toLong();
			}
			case "hypersistence" -> {
				TSID.Factory factory = given ? TSID.Factory.newInstance1024(node) : TSID.Factory.newInstance1024();
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
