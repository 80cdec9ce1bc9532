import Testing

@testable import Bench

@Suite("Metrics of a server")
struct ServerMetricsTests {
    @Test("gauges and counters are distinguished, and those of single rooms are skipped")
    func kinds() {
        let metrics = ServerMetrics(
            """
            # HELP tessera_rooms Rooms that exist.
            # TYPE tessera_rooms gauge
            tessera_rooms 3
            # HELP tessera_backlog Pieces of work.
            # TYPE tessera_backlog gauge
            tessera_backlog{thread="audio clock"} 2
            # TYPE tessera_network_bytes_total counter
            tessera_network_bytes_total{direction="in"} 1234567
            # TYPE tessera_rendition_members gauge
            tessera_rendition_members{room="a b",codec="vp8"} 4
            """)
        #expect(metrics.gauges == ["tessera_rooms": 3, "tessera_backlog{thread=\"audio clock\"}": 2])
        #expect(metrics.counters == ["tessera_network_bytes_total{direction=\"in\"}": 1_234_567])
    }
}
