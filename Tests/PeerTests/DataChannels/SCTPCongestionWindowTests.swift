import Testing

@testable import Peer

@Suite("The congestion window of SCTP") struct SCTPCongestionWindowTests {
    private func started(peerWindow: Int = 1 << 20) -> SCTPCongestionWindow {
        var window = SCTPCongestionWindow(packetSize: 1000, limit: 50_000)
        window.start(peerWindow: peerWindow)
        return window
    }

    @Test(
        "It begins with four packets, 4380 bytes at most, and at least two packets",
        arguments: [(500, 2000), (1000, 4000), (1200, 4380), (3000, 6000)])
    func initial(packetSize: Int, size: Int) {
        #expect(SCTPCongestionWindow(packetSize: packetSize, limit: .max).size == size)
    }

    @Test("In slow start a full window grows by a packet with each acknowledgement, up to the limit")
    func slowStart() {
        var window = started()
        window.grow(by: 2000, advanced: true, flight: 4000)
        #expect(window.size == 5000)
        window.grow(by: 2000, advanced: true, flight: 1000)
        window.grow(by: 2000, advanced: false, flight: 5000)
        #expect(window.size == 5000)
        for _ in 0..<100 { window.grow(by: 2000, advanced: true, flight: window.size) }
        #expect(window.size == 50_000)
    }

    @Test("Above the threshold a whole window has to be acknowledged for a packet more")
    func avoidance() {
        var window = started(peerWindow: 0)
        window.grow(by: 1000, advanced: true, flight: 4000)
        #expect(window.size == 5000)
        for _ in 0..<4 { window.grow(by: 1000, advanced: true, flight: 5000) }
        #expect(window.size == 5000)
        window.grow(by: 1000, advanced: true, flight: 5000)
        #expect(window.size == 6000)
    }

    @Test("A loss halves it once, until what was sent before is acknowledged")
    func fastRetransmit() {
        var window = started()
        for _ in 0..<12 { window.grow(by: 2000, advanced: true, flight: window.size) }
        #expect(window.size == 16_000)
        window.fastRetransmit(lastTSN: 20)
        window.fastRetransmit(lastTSN: 30)
        #expect(window.size == 8000)
        window.acknowledged(upTo: 19)
        window.grow(by: 8000, advanced: true, flight: 8000)
        #expect(window.size == 8000)
        window.acknowledged(upTo: 20)
        window.grow(by: 8000, advanced: true, flight: 8000)
        #expect(window.size == 9000)
    }

    @Test("A timeout reduces it to one packet")
    func timeout() {
        var window = started()
        window.timedOut()
        #expect(window.size == 1000)
    }
}
