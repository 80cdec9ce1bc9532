import Basics
import Simulation
import Testing

@testable import Peer

@Suite("A peer that changes its SSRC with every packet")
struct SourceFloodTests {
    /// A packet of the client's, encrypted with its keys.
    private func encrypted(_ call: SimulatedCall, ssrc: UInt32, sequence: UInt16 = 1, isReport: Bool = false) throws
        -> [UInt8]
    {
        let type = try #require(call.server.negotiated?.section(.audio)?.codecs.first).payloadType
        var plain: [UInt8] = isReport ? [0x80, 201, 0, 1] : [0x80, type]
        if !isReport {
            plain.append16(sequence)
            plain.append32(UInt32(sequence) * 960)
        }
        plain.append32(ssrc)
        if !isReport { plain += [0x78, 1, 2, 3] }
        let length = plain.count
        plain += [UInt8](repeating: 0, count: SRTPContext.maximumOverhead)
        let srtp = try #require(call.client.srtp)
        let count = try plain.withUnsafeMutableBytes {
            isReport ? try srtp.protectRTCP($0, length: length) : try srtp.protectRTP($0, length: length)
        }
        return Array(plain[..<count])
    }

    @Test("It makes few streams, and its own media and that of its call continue", arguments: [false, true])
    func flood(isReport: Bool) throws {
        let call = try SimulatedCall.connected(seed: 1, for: .seconds(1))
        let start = call.now
        var ssrc: UInt32 = 0x5000_0000
        for _ in 0..<1000 {
            for _ in 0..<10 {
                ssrc += 1
                call.inject(try encrypted(call, ssrc: ssrc, isReport: isReport))
            }
            call.run(for: .milliseconds(5))
        }
        let statistics = call.server.statistics(at: call.now)
        #expect(statistics.sources <= SourceTable.capacity)
        #expect(statistics.refusedSources > 9000)
        #expect(call.server.receiver.makeReportBlocks(at: call.now).count <= SourceTable.capacity)
        #expect(call.areConnected)
        #expect(call.frames(.server, since: start) > 100)
        #expect(call.frames(.client, since: start) > 100)
    }

    @Test("Packets recorded under an SSRC that lost its place are not accepted a second time")
    func replay() throws {
        let call = try SimulatedCall.connected(seed: 2)
        let recorded = try encrypted(call, ssrc: 0x6000_0000)
        call.inject(recorded)
        let first = try #require(call.server.srtp).statistics.unprotected
        call.inject(recorded)
        #expect(call.server.srtp?.statistics.unprotected == first, "by the source's replay window")
        for step in UInt32(1)...120 {
            call.run(for: .seconds(1))
            call.inject(try encrypted(call, ssrc: 0x6000_0000 + step))
        }
        #expect(call.server.statistics(at: call.now).forgottenSources > 0)
        let before = try #require(call.server.srtp).statistics.unprotected
        let refused = call.server.statistics(at: call.now).refusedSources
        call.inject(recorded)
        #expect(call.server.srtp?.statistics.unprotected == before)
        #expect(call.server.statistics(at: call.now).refusedSources == refused + 1)
        #expect(call.areConnected)
    }
}
