package io.snowraft.app;

import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalysisReporter;

/** Keeps the last report of Spring Boot about an application that did not start. */
public class Reports implements FailureAnalysisReporter {
    private static volatile FailureAnalysis last;

    @Override
    public void report(FailureAnalysis analysis) {
        last = analysis;
    }

    /** Returns the text of the last report, and forgets it. */
    static String take() {
        FailureAnalysis report = last;
        last = null;
        return report == null ? "" : report.getDescription() + "\n" + report.getAction();
    }
}
