import cn.hutool.core.lang.Snowflake;
import com.baomidou.mybatisplus.core.toolkit.Sequence;
import com.github.f4b6a3.tsid.TsidFactory;
import io.snowraft.client.Generator;
import io.snowraft.client.SnowraftClient;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import me.ahoo.cosid.CosId;
import me.ahoo.cosid.machine.ClockBackwardsSynchronizer;
import me.ahoo.cosid.machine.DefaultMachineIdGuarder;
import me.ahoo.cosid.machine.InstanceId;
import me.ahoo.cosid.machine.MachineIdDistributor;
import me.ahoo.cosid.machine.MachineStateStorage;
import me.ahoo.cosid.snowflake.ClockSyncSnowflakeId;
import me.ahoo.cosid.snowflake.MillisecondSnowflakeId;
import me.ahoo.cosid.spring.redis.SpringRedisMachineIdDistributor;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * Calls a library until the process is killed, and prints a line for its clock and each call: Drive [bursts] LIBRARY [MACHINE | ADDRESSES
 * [MACHINE_BITS SEQUENCE_BITS]]. With bursts, it makes as many calls, several at once and at random moments.
 */
public final class Drive {
	private static final long PACE_NANOS = 2_000_000;
	private static final int BURST = 20; // calls at once

	private Drive() {}

	/** A generator of CosId whose machine number Redis distributes and guards, put together as cosid-spring-boot-starter does by default. */
	private static LongSupplier cosid(String[] sentinels, int machineBits, int sequenceBits) {
		LettuceConnectionFactory connections = new LettuceConnectionFactory(new RedisSentinelConfiguration("mymaster", Set.of(sentinels)));
		connections.afterPropertiesSet();
		connections.start();
		MachineIdDistributor distributor = new SpringRedisMachineIdDistributor(
			new StringRedisTemplate(connections), MachineStateStorage.IN_MEMORY, ClockBackwardsSynchronizer.DEFAULT);
		Duration guarded = Duration.ofMinutes(5);
		String host;
		try {
			host = InetAddress.getLocalHost().getHostAddress();
		} catch (UnknownHostException e) {
			throw new UncheckedIOException(e);
		}
		InstanceId instance = InstanceId.of(host, (int) ProcessHandle.current().pid(), false);
		DefaultMachineIdGuarder guarder = new DefaultMachineIdGuarder(distributor, guarded);
		int machine = distributor.distribute("shop", machineBits, instance, guarded).getMachineId();
		guarder.register("shop", instance);
		guarder.start();
		return new ClockSyncSnowflakeId(new MillisecondSnowflakeId(CosId.COSID_EPOCH, MillisecondSnowflakeId.DEFAULT_TIMESTAMP_BIT,
			machineBits, sequenceBits, machine, MillisecondSnowflakeId.DEFAULT_SEQUENCE_RESET_THRESHOLD))::generate;
	}

	/** Returns the machine number, below 1,024, that follows the name of a library. */
	private static int number(String[] args) {
		return Integer.parseInt(args[1]);
	}

	/** Returns the line of a call. */
	private static String call(LongSupplier next) {
		try {
			return "=" + next.getAsLong() + "\n";
		} catch (RuntimeException e) {
			return "!" + String.valueOf(e.getMessage()).replace('\n', ' ') + "\n";
		}
	}

	public static void main(String[] all) throws InterruptedException {
		PrintStream out = new PrintStream(System.out, true);
		out.println("@" + System.currentTimeMillis());
		boolean bursts = all[0].equals("bursts");
		String[] args = Arrays.copyOfRange(all, bursts ? 1 : 0, all.length);
		LongSupplier next = switch (args[0]) {
			case "mybatis-plus" -> (args.length == 1 ? new Sequence(null) : new Sequence(number(args) % 32, number(args) / 32))::nextId;
			case "hutool" -> (args.length == 1 ? new Snowflake() : new Snowflake(number(args) % 32, number(args) / 32))::nextId;
			case "tsid" -> {
				TsidFactory factory = args.length == 1 ? new TsidFactory() : new TsidFactory(number(args));
				yield () -> factory.create().toLong();
			}
			case "cosid" -> cosid(args[1].split(","), Integer.parseInt(args[2]), Integer.parseInt(args[3]));
			case "snowraft" -> {
				Generator generator = SnowraftClient.connect(args[1].split(",")).generator();
				yield generator::next;
			}
			default -> throw new IllegalArgumentException(args[0]);
		};
		while (true) {
			long began = System.nanoTime();
			int calls = bursts ? BURST : 1;
			StringBuilder lines = new StringBuilder();
			for (int i = 0; i < calls; i++) {
				lines.append(call(next));
			}
			out.print(lines);
			double turns = bursts ? -Math.log(1 - ThreadLocalRandom.current().nextDouble()) : 1; // mean 1
			long left = (long) (turns * calls * PACE_NANOS) - (System.nanoTime() - began);
			if (left > 0) {
				Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
			}
		}
	}
}
