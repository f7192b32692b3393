import com.baomidou.mybatisplus.core.toolkit.Sequence;
import cn.hutool.core.lang.Snowflake;
import com.github.f4b6a3.tsid.TsidFactory;
import io.hypersistence.tsid.TSID;
import java.io.PrintStream;
import java.time.Duration;
import java.util.function.LongSupplier;
import me.ahoo.cosid.machine.ClockBackwardsSynchronizer;
import me.ahoo.cosid.machine.InstanceId;
import me.ahoo.cosid.machine.LocalMachineStateStorage;
import me.ahoo.cosid.machine.MachineStateStorage;
import me.ahoo.cosid.machine.ManualMachineIdDistributor;
import me.ahoo.cosid.snowflake.ClockSyncSnowflakeId;
import me.ahoo.cosid.snowflake.MillisecondSnowflakeId;

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
			case "cosid" -> { // the variables that Spring binds to cosid.machine, and the generator of cosid-spring-boot-starter
				String prefix = "COSID_MACHINE_", files = System.getenv(prefix + "STATESTORAGE_LOCAL_STATELOCATION");
				MachineStateStorage storage = files == null ? MachineStateStorage.IN_MEMORY : new LocalMachineStateStorage(files);
				int machine = new ManualMachineIdDistributor(Integer.parseInt(System.getenv(prefix + "DISTRIBUTOR_MANUAL_MACHINEID")), storage,
					ClockBackwardsSynchronizer.DEFAULT).distribute("app", 10, InstanceId.of("10.0.0.1", 8080, false), Duration.ofMinutes(5)).getMachineId();
				yield new ClockSyncSnowflakeId(new MillisecondSnowflakeId(machine))::generate;
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
