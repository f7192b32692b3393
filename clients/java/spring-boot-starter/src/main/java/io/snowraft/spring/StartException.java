package io.snowraft.spring;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Reports that the application cannot start, and what to do. */
final class StartException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String action;

    StartException(String description, String action, Throwable cause) {
        super(description, cause);
        this.action = action;
    }

    /** Makes Spring Boot print the description and the action. */
    static final class Analyzer extends AbstractFailureAnalyzer<StartException> {
        @Override
        protected FailureAnalysis analyze(Throwable root, StartException e) {
            return new FailureAnalysis(e.getMessage(), e.action, e);
        }
    }
}
