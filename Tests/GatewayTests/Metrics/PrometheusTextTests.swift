import Testing

@testable import Gateway

@Suite struct PrometheusTextTests {
    @Test func `samples of one name stand together, escaped`() {
        let text = PrometheusText.write([
            MetricLine(name: "a_total", help: "A\nb.", kind: .counter, labels: [("room", "x\"y\\z\n")], value: 3),
            MetricLine(name: "b", help: "B.", kind: .gauge, value: 0.5),
            MetricLine(name: "a_total", help: "A\nb.", kind: .counter, labels: [("room", "q")], value: .infinity),
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
}
