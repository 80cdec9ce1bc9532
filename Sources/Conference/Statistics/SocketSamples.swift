import Basics
import Sockets

extension MediaLoopStatistics {
    /// The samples of the metrics page, with the limits of the configuration.
    func samples(_ limits: ConferenceConfiguration.Limits) -> [MetricSample] {
        let closed = "tessera_media_connections_closed_total"
        let closedHelp = "Media connections over TCP that the server closed, by reason."
        let dropped = "tessera_socket_datagrams_dropped_total"
        let droppedHelp = "Datagrams that the sockets dropped, by reason."
        func count(_ name: String, _ help: String, _ value: Int, _ reason: String) -> MetricSample {
            MetricSample(name, help, .counter, Double(value), labels: ["reason": reason])
        }
        let caps = MetricSample.limits(
            "media_connections", of: limits.mediaConnections, perAddress: limits.mediaConnectionsPerAddress,
            current: connections,
            refused: [.total: refusedInAll, .address: refusedOfAddress])
        return caps + [
            MetricSample(
                "tessera_media_connections_unclaimed",
                "Media connections over TCP that no peer has shown to be its own.", .gauge,
                Double(strangers)),
            MetricSample(
                "tessera_media_connections_accepted_total", "Media connections over TCP.", .counter, Double(accepted)),
            count(closed, closedHelp, displaced, "displaced"),
            count(closed, closedHelp, unclaimed, "unclaimed"),
            count(closed, closedHelp, idle, "idle"),
            count(closed, closedHelp, stalled, "stalled"),
            MetricSample(
                "tessera_accept_failures_total",
                "Media connections that the system refused for lack of descriptors or memory.", .counter,
                Double(acceptFailures)),
            count(dropped, droppedHelp, droppedOut, "full"),
            count(dropped, droppedHelp, unread, "unread"),
            count(dropped, droppedHelp, unanswerable, "source_port"),
            MetricSample(
                "tessera_segmentation_refusals_total", "Segmented writes that the path to a destination refused.",
                .counter,
                Double(segmentationRefusals)),
        ]
    }
}
