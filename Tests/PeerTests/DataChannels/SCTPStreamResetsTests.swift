import Basics
import Testing

@testable import Peer

@Suite("Resets of streams") struct SCTPStreamResetsTests {
    private static let timeout = Duration.seconds(1)

    private func begun(_ streams: [UInt16]) -> SCTPStreamResets {
        var resets = SCTPStreamResets(initialTSN: 50)
        resets.adopt(initialTSN: 80)
        for stream in streams { resets.request(stream) }
        _ = resets.begin(resets.ready { _ in true }, lastTSN: 60, timeout: Self.timeout, at: .zero)
        return resets
    }

    @Test("A request waits for what was sent, and names its streams in order")
    func request() {
        var resets = SCTPStreamResets(initialTSN: 50)
        resets.adopt(initialTSN: 80)
        for stream in [3, 1, 2] as [UInt16] { resets.request(stream) }
        #expect(resets.ready { _ in false }.isEmpty)
        let streams = resets.ready { $0 != 2 }
        #expect(streams == [1, 3])
        let chunk = resets.begin(streams, lastTSN: 60, timeout: Self.timeout, at: .zero)
        #expect(chunk == .reconfig([.resetOutgoing(request: 50, response: 79, lastTSN: 60, streams: [1, 3])]))
        #expect(resets.isUnderWay && resets.deadline == .zero + .seconds(1))
        #expect(resets.ready { _ in true }.isEmpty)
    }

    @Test("A request that was not answered is sent again unchanged")
    func again() {
        var resets = begun([4])
        let chunk = resets.makeRequest(timeout: Self.timeout, at: .zero + .seconds(1))
        #expect(chunk == .reconfig([.resetOutgoing(request: 50, response: 79, lastTSN: 60, streams: [4])]))
        #expect(resets.deadline == .zero + .seconds(2))
    }

    @Test("Only a final response to this request ends it")
    func response() {
        var resets = begun([4])
        let other = resets.receiveResponse(to: 49, 1)
        #expect(other == nil && resets.isUnderWay)
        let pending = resets.receiveResponse(to: 50, SCTPStreamResets.Result.inProgress)
        #expect(pending == .inProgress && resets.isUnderWay)
        let final = resets.receiveResponse(to: 50, SCTPStreamResets.Result.performed)
        #expect(final == .done([4]) && !resets.isUnderWay && resets.deadline == nil)
    }

    @Test("The peer's requests are carried out once, in order, and answered again if the response was lost")
    func ofPeer() {
        var resets = begun([])
        #expect(resets.isNext(80) && !resets.isNext(81))
        let waiting = resets.respond(to: 80, SCTPStreamResets.Result.inProgress)
        #expect(waiting == .reconfig([.response(request: 80, result: 6)]))
        #expect(resets.isNext(80))
        _ = resets.respond(to: 80, SCTPStreamResets.Result.denied)
        #expect(resets.isNext(81))
        #expect(resets.respondAgain(to: 80) == .reconfig([.response(request: 80, result: 2)]))
        #expect(resets.respondAgain(to: 90) == .reconfig([.response(request: 90, result: 5)]))
    }

    @Test("No more streams are requested than one request names")
    func bound() {
        var resets = SCTPStreamResets(initialTSN: 50)
        for stream in 0..<1000 as Range<UInt16> { resets.request(stream) }
        #expect(resets.ready { _ in true }.count == SCTPConfiguration.mostNamedStreams)
    }
}
