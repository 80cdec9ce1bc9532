import Foundation
import Testing

@testable import Bench

@Suite("What the soak test reads of a server")
struct ServerReadingTests {
    @Test("gauges and counters are told apart, and those of single rooms left out")
    func metrics() {
        let reading = ServerReading(
            process: ProcessInfo.processInfo.processIdentifier,
            metrics: """
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
        #expect(reading.gauges == ["tessera_rooms": 3, "tessera_backlog{thread=\"audio clock\"}": 2])
        #expect(reading.counters == ["tessera_network_bytes_total{direction=\"in\"}": 1_234_567])
        #expect(reading.resident > 1)
        #expect(reading.threads >= 1)
        #expect(reading.descriptors >= 3)
        #expect(reading.processorTime > 0)
    }

    @Test("an answer in chunks is put together, and what is no answer is none")
    func http() throws {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"1\"\r\n\r\n4\r\nTess\r\n3;x=y\r\nera\r\n0\r\n\r\n"
        let answer = try #require(LoopbackHTTP.parse(Array(chunked.utf8)))
        #expect(answer.status == 200)
        #expect(answer.headers["etag"] == "\"1\"")
        #expect(answer.text == "Tessera")
        #expect(LoopbackHTTP.parse(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))?.body == [])
        #expect(LoopbackHTTP.parse(Array("nonsense".utf8)) == nil)
    }

    @Test("the plot's steps are round numbers", arguments: [(60.0, 8.0, 10.0), (0.7, 4, 0.2), (330, 4, 100), (0, 4, 1)])
    func steps(range: Double, parts: Double, step: Double) {
        #expect(abs(SoakPlot.step(range, parts: parts) - step) < 1e-9)
    }
}
