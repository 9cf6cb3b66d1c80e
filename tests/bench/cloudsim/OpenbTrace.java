import ch.qos.logback.classic.Level;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.cloudsimplus.brokers.DatacenterBrokerSimple;
import org.cloudsimplus.core.CloudSimPlus;
import org.cloudsimplus.core.CloudSimTag;
import org.cloudsimplus.datacenters.DatacenterSimple;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostSimple;
import org.cloudsimplus.resources.Pe;
import org.cloudsimplus.resources.PeSimple;
import org.cloudsimplus.util.Log;
import org.cloudsimplus.vms.Vm;
import org.cloudsimplus.vms.VmSimple;

/** Plays the nodes and pods of the openb trace: nodes as hosts, pods as machines of whole cores, without GPUs. */
public final class OpenbTrace {
    private static final int MIPS = 1000;

    public static void main(String[] args) throws IOException {
        Log.setLevel(Level.OFF);
        final int faster = Integer.parseInt(args[2]);
        final double seconds = Double.parseDouble(args[3]);
        final var simulation = new CloudSimPlus();
        final var datacenter = new DatacenterSimple(simulation, hosts(Path.of(args[0])));
        final var broker = new DatacenterBrokerSimple(simulation);
        final List<Vm> machines = new ArrayList<>();
        for (final String[] pod : rows(Path.of(args[1]))) {
            final double begins = Double.parseDouble(pod[8]) / faster;
            final double ends = Double.parseDouble(pod[9]) / faster;
            if (begins >= seconds) {
                continue;
            }
            final long cores = Math.max(1, (Long.parseLong(pod[1]) + 999) / 1000);
            final Vm machine = new VmSimple(MIPS, cores);
            machine.setRam(Long.parseLong(pod[2])).setBw(1).setSize(1).setSubmissionDelay(begins);
            machine.addOnHostAllocationListener(
                each -> simulation.send(broker, datacenter, Math.max(1, ends - begins), CloudSimTag.VM_DESTROY, machine));
            machines.add(machine);
        }
        broker.submitVmList(machines);
        simulation.terminateAt(seconds);
        simulation.start();
        final long placed = broker.getVmCreatedList().size();
        System.out.printf("{\"clock\": %.0f, \"placed\": %d, \"pods\": %d}%n", simulation.clock(), placed, machines.size());
    }

    private static List<Host> hosts(final Path nodes) throws IOException {
        final List<Host> hosts = new ArrayList<>();
        for (final String[] node : rows(nodes)) {
            final List<Pe> cores = new ArrayList<>();
            for (long each = 0; each < Long.parseLong(node[1]) / 1000; each++) {
                cores.add(new PeSimple(MIPS));
            }
            hosts.add(new HostSimple(Long.parseLong(node[2]), 1_000_000, 1_000_000, cores));
        }
        return hosts;
    }

    private static List<String[]> rows(final Path file) throws IOException {
        return Files.readAllLines(file).stream().skip(1).map(line -> line.split(",", -1)).toList();
    }
}
