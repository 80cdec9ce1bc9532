import Basics
import Testing

@testable import WebServer

@Suite struct PrometheusTextTests {
    @Test func `samples of one name are together, escaped`() {
        let text = PrometheusText.write([
            MetricSample("a_total", "A\nb.", .counter, 3, labels: ["room": "x\"y\\z\n"]),
            MetricSample("b", "B.", .gauge, 0.5),
            MetricSample("a_total", "A\nb.", .counter, .infinity, labels: ["room": "q"]),
        ])
        #expect(
            text == """
                # HELP a_total A\\nb.
                # TYPE a_total counter
                a_total{room="x\\"y\\\\z\\n"} 3
                a_total{room="q"} +Inf
                # HELP b B.
                # TYPE b gauge
                b 0.5

                """)
    }

    @Test func `a histogram is one family`() {
        let histogram = Histogram(milliseconds: [1, 20])
        for milliseconds in [1, 2, 20, 21] { histogram.add(.milliseconds(milliseconds)) }
        #expect(
            PrometheusText.write(histogram.samples("turn_seconds", "Turns.", labels: ["part": "all"])) == """
                # HELP turn_seconds Turns.
                # TYPE turn_seconds histogram
                turn_seconds_bucket{le="0.001",part="all"} 1
                turn_seconds_bucket{le="0.02",part="all"} 3
                turn_seconds_bucket{le="+Inf",part="all"} 4
                turn_seconds_sum{part="all"} 0.044
                turn_seconds_count{part="all"} 4

                """)
    }
}
