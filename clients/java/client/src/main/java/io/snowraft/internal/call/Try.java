package io.snowraft.internal.call;

import io.snowraft.client.Reason;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.ClearTextException;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.http.HttpConnection;
import io.snowraft.internal.http.HttpResponse;
import io.snowraft.internal.http.OtherProtocolException;
import io.snowraft.internal.http.PinMismatchException;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import javax.net.ssl.SSLException;

/** One try of a call at one member. */
final class Try {
    private final Request request;
    private final Address member;
    private final Deadline deadline;
    private final long began = System.nanoTime();
    private long ended;
    private JsonObject answer;

    Try(Request request, Address member, Deadline deadline) {
        this.request = request;
        this.member = member;
        this.deadline = deadline;
    }

    Request request() {
        return request;
    }

    Address member() {
        return member;
    }

    /** Returns the time that the try took. */
    Duration took() {
        return Duration.ofNanos(ended - began);
    }

    /** Returns the answer of a try that succeeded. */
    JsonObject answer() {
        return answer;
    }

    /** Sends the request once, and returns the failure; null if the member answered it. */
    Failure run(Pool pool, String token, Receipts receipts) {
        try {
            HttpConnection connection = pool.idle(member, !request.harmless());
            if (connection != null) {
                Failure failure = exchange(pool, connection, token, receipts);
                if (failure != null && !connection.answerBegan()) {
                    pool.forget(member); // the member may have closed its other connections too
                }
                return failure;
            }
            try {
                connection = pool.open(member, deadline);
            } catch (IOException e) {
                return unreached(e);
            }
            return exchange(pool, connection, token, receipts);
        } finally {
            ended = System.nanoTime();
        }
    }

    private Failure exchange(Pool pool, HttpConnection connection, String token, Receipts receipts) {
        boolean reusable = false;
        try {
            byte[] body = request.body() == null ? null : request.body().bytes();
            String receipt = request.method().hasReceipt() ? receipts.header() : null;
            HttpResponse response = connection.exchange(request.method().verb(), request.path(), token, receipt, body, deadline);
            reusable = response.reusable();
            if (response.status() != 200) {
                return Failure.of(response, member.toString());
            }
            answer = JsonObject.parse(response.body());
            if (receipt != null) {
                receipts.keep(answer.bytes("receipt"));
            }
            return null;
        } catch (JsonException e) {
            return Failure.local(Reason.MALFORMED_ANSWER, "malformed answer (" + e.getMessage() + ")", member.toString(), false);
        } catch (IOException e) {
            return broken(e, connection);
        } finally {
            pool.release(connection, reusable);
        }
    }

    /** Returns the failure of a connection that was not established. */
    private Failure unreached(IOException e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof PinMismatchException) {
                return Failure.local(Reason.PIN_MISMATCH, cause.getMessage() + "; use the pin or CA of that secret; if the secret was "
                        + "replaced, use its new pin or CA (see \"snowraft secret list\")", member.toString(), true);
            }
        }
        return isClear(e) ? Failure.wrongPort("the port does not speak TLS; remove the pin and the CA, or check the address", member.toString())
                : Failure.local(Reason.UNAVAILABLE, explain(e), member.toString(), true);
    }

    private static String explain(IOException e) {
        if (e instanceof SocketTimeoutException) {
            return "no connection in time";
        } else if (e instanceof UnknownHostException) {
            return "no such host";
        } else if (e instanceof ConnectException || e instanceof ClearTextException) {
            return e.getMessage();
        }
        return "no connection: " + e.getMessage();
    }

    /** Reports whether the answer to the start of TLS was no TLS. */
    private static boolean isClear(IOException e) {
        return e instanceof SSLException && String.valueOf(e.getMessage()).startsWith("Unsupported or unrecognized SSL message");
    }

    /** Returns the failure of a connection that broke after a part of the request was sent. */
    private Failure broken(IOException e, HttpConnection connection) {
        if (e instanceof SocketTimeoutException || deadline.passed()) {
            return Failure.local(Reason.TIMEOUT, "no answer in time", member.toString(), false);
        } else if (e instanceof OtherProtocolException other) {
            return Failure.wrongPort(switch (other.spoken()) {
                case GRPC -> Failure.GRPC_PORT;
                case TLS -> Failure.TLS_PORT;
                case OTHER -> Failure.OTHER_PORT;
            }, member.toString());
        } else if (!connection.answerBegan() && connection.speaksNoHttp()) {
            return Failure.wrongPort(Failure.GRPC_PORT, member.toString());
        } else if (e instanceof ProtocolException) {
            return new Failure(Reason.UNAVAILABLE, Reason.UNAVAILABLE.name(), "not the HTTP port of a Snowraft member, 7701 by default: "
                    + e.getMessage(), member.toString(), Duration.ZERO, false, false, true, false);
        }
        return Failure.local(Reason.UNAVAILABLE, "the connection broke: " + e.getMessage(), member.toString(), false);
    }
}
