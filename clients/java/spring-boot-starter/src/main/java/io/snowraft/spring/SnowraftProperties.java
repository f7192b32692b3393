package io.snowraft.spring;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The settings of the client and of its generator.
 *
 * @param addresses    HTTP addresses of some members, such as db1:7701,db2:7701. The client learns the others.
 * @param token        API token of a secured cluster.
 * @param tokenFile    File that holds the API token.
 * @param caFile       PEM file with certificate authorities that verify the members, if the token has no pin.
 * @param systemTrust  Use TLS with the certificate authorities of the Java platform.
 * @param clearText    Send the token in clear text, for networks in which something else encrypts the connections.
 * @param timeout      Time limit of a call, and of the wait for an ID.
 * @param layout       Layout of the generator's IDs.
 * @param holder       Name of this process that operators see. The host's name by default.
 * @param lanes        Number of workers that the generator leases, 1 to 64.
 * @param failFast     Fail at once when the window has ended, instead of waiting for another one.
 * @param readyTimeout Time for which the start of the application waits for the generator before it fails. 0 starts without waiting.
 */
@ConfigurationProperties("snowraft")
public record SnowraftProperties(@DefaultValue List<String> addresses, @DefaultValue("") String token, Path tokenFile, Path caFile,
        @DefaultValue("false") boolean systemTrust, @DefaultValue("false") boolean clearText, @DefaultValue("10s") Duration timeout,
        @DefaultValue("default") String layout, @DefaultValue("") String holder, @DefaultValue("1") int lanes,
        @DefaultValue("false") boolean failFast, @DefaultValue("10s") Duration readyTimeout) {
    /** Returns the settings without the token. */
    @Override
    public String toString() {
        return "SnowraftProperties[addresses=" + addresses + ", token=" + (token.isEmpty() ? "" : "******") + ", tokenFile=" + tokenFile + ", caFile="
                + caFile + ", systemTrust=" + systemTrust + ", clearText=" + clearText + ", timeout=" + timeout + ", layout=" + layout + ", holder="
                + holder + ", lanes=" + lanes + ", failFast=" + failFast + ", readyTimeout=" + readyTimeout + "]";
    }
}
