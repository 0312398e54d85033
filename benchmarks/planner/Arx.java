// ARX on one exported table: the loss that each of its ways reaches, for bench.py.
// FOLDER K: table.csv and hierarchy_COLUMN.csv in, NAME.csv and a line "NAME CPU-SECONDS" per way out.

import java.io.File;
import java.io.FileWriter;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

public class Arx {
    static File folder;

    public static void main(String[] args) throws Exception {
        folder = new File(args[0]);
        int k = Integer.parseInt(args[1]);
        run("nobody", k, 0d, 0.5, false);
        run("five", k, 0.05, 0.5, false);
        run("all", k, 1d, 0.5, false);
        for (double factor : new double[] {0d, 0.25, 0.5, 0.75, 1d}) {
            run("local" + factor, k, 1d, factor, true);
        }
    }

    static Data read() throws Exception {
        Data data = Data.create(new File(folder, "table.csv"), StandardCharsets.UTF_8, ';');
        DataHandle handle = data.getHandle();
        for (int j = 0; j < handle.getNumColumns(); j++) {
            String name = handle.getAttributeName(j);
            File file = new File(folder, "hierarchy_" + name + ".csv");
            data.getDefinition().setAttributeType(name, AttributeType.Hierarchy.create(file, StandardCharsets.UTF_8, ';'));
        }
        return data;
    }

    static void run(String name, int k, double limit, double factor, boolean local) throws Exception {
        Data data = read();
        ARXConfiguration config = ARXConfiguration.create();
        config.addPrivacyModel(new KAnonymity(k));
        config.setSuppressionLimit(limit);
        config.setQualityModel(Metric.createLossMetric(factor));
        long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        ARXResult result;
        try {
            result = new ARXAnonymizer().anonymize(data, config);
        } catch (IllegalArgumentException e) { // too many plans for its optimal search
            data = read();
            config = config.clone();
            config.setAlgorithm(ARXConfiguration.AnonymizationAlgorithm.BEST_EFFORT_BOTTOM_UP);
            config.setHeuristicSearchTimeLimit(10_000);
            result = new ARXAnonymizer().anonymize(data, config);
        }
        if (!result.isResultAvailable()) {
            System.out.println(name + " no plan");
            return;
        }
        DataHandle out = result.getOutput(false);
        if (local) {
            result.optimizeIterativeFast(out, 0.01d);
        }
        double seconds = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start) / 1e9;
        try (PrintWriter writer = new PrintWriter(new FileWriter(new File(folder, name + ".csv")))) {
            for (Iterator<String[]> rows = out.iterator(); rows.hasNext();) {
                writer.println(String.join(";", rows.next()));
            }
        }
        System.out.println(name + " " + seconds);
        data.getHandle().release();
    }
}
