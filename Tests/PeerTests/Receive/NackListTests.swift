import Basics
import Testing

@testable import Peer

@Suite("NackList")
struct NackListTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// Three packets get lost each second and come with the first try or with the second.
    private func list(firstTriesHelp: Bool, rounds: Int64) -> NackList {
        var list = NackList()
        for round in 0..<rounds {
            let (first, start) = (round * 100, round * 1000)
            let isNoted = list.note(first..<first + 3, at: at(start))
            #expect(isNoted)
            for millisecond in start..<start + 500 {
                for sequence in list.due(at: at(millisecond), roundTrip: .milliseconds(60)) {
                    guard let entry = list.entries.first(where: { $0.sequence == sequence }) else { continue }
                    if firstTriesHelp || entry.asked == 2 {
                        _ = list.arrived(
                            sequence, isRetransmission: true, roundTrip: .milliseconds(60), at: at(millisecond))
                    }
                }
            }
        }
        return list
    }

    /// The times of the requests for one more packet, in milliseconds after it was noticed.
    private func times(_ list: NackList, roundTrip: Duration = .milliseconds(60)) -> [Int64] {
        var list = list
        let isNoted = list.note(1_000_000..<1_000_001, at: at(1_000_000))
        #expect(isNoted)
        var times: [Int64] = []
        for later in Int64(0)..<300 where !list.due(at: at(1_000_000 + later), roundTrip: roundTrip).isEmpty {
            times.append(later)
        }
        return times
    }

    /// RFC 4585 §3.5.
    @Test("Requests are a round trip apart if the first ones bring the packets")
    func lossless() {
        #expect(times(list(firstTriesHelp: true, rounds: 40)) == [10, 70, 130, 190, 250])
    }

    @Test("Each request is sent twice if many first requests fail")
    func lossy() {
        #expect(times(list(firstTriesHelp: false, rounds: 40)) == [10, 22, 70, 82, 130, 142, 190, 202, 250, 262])
    }

    @Test("On a link that became good again each request is sent once")
    func recovered() {
        var list = list(firstTriesHelp: false, rounds: 20)
        for round in Int64(1000)..<1060 {
            let isNoted = list.note(round * 100..<round * 100 + 3, at: at(round * 1000))
            #expect(isNoted)
            for sequence in list.due(at: at(round * 1000), roundTrip: .milliseconds(60)) {
                _ = list.arrived(
                    sequence, isRetransmission: true, roundTrip: .milliseconds(60), at: at(round * 1000 + 60))
            }
        }
        var times: [Int64] = []
        let isNoted = list.note(1_000_000..<1_000_001, at: at(2_000_000))
        #expect(isNoted)
        for later in Int64(0)..<150 where !list.due(at: at(2_000_000 + later), roundTrip: .milliseconds(60)).isEmpty {
            times.append(later)
        }
        #expect(times == [10, 70, 130])
    }

    @Test("On a long path each request is sent twice from the first on")
    func longWay() {
        #expect(times(NackList(), roundTrip: .milliseconds(200)) == [10, 50, 210, 250])
    }
}
