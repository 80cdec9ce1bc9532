import Basics
import Peer
import Testing

@testable import RoomMedia

@Suite("AV1 on thin lines")
struct ThinCodecTests {
    private let ladder = Ladder(RoomMediaConfiguration.Rung.standard, width: 1280, height: 720, framesPerSecond: 30)
    private func offered() -> ThinCodec {
        var codec = ThinCodec()
        codec.offer(true)
        return codec
    }
    private func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1000)) }

    @Test("the lowest rung has 360 lines at the same bit rate, so have stills, and a screen has the canvas' size")
    func rungs() throws {
        let thin = try #require(ladder.thin)
        #expect((thin.rung.width, thin.rung.height, thin.rung.framesPerSecond) == (640, 360, 15))
        #expect(thin.rung.bitRate == ladder.rungs.last?.bitRate)
        #expect(thin.rung.leastBitRate < (ladder.rungs.last?.leastBitRate ?? .zero))
        let last = ladder.rungs.count - 1
        #expect(ladder.rung(for: .rung(last), .av1) == thin.rung && ladder.rung(for: .stills, .av1).height == 360)
        let screen = ladder.rung(for: .screen(last), .av1)
        #expect((screen.width, screen.height, screen.framesPerSecond) == (1280, 720, 5))
        #expect(screen.bitRate == ladder.rungs.last?.bitRate && screen.leastBitRate < thin.rung.leastBitRate)
        #expect(ladder.kind(of: .rung(last), hasScreen: true, isThin: true) == .screen(last))
        #expect(ladder.kind(of: .rung(last), hasScreen: true) == .rung(last))
        #expect(ladder.kind(of: .rung(last), hasScreen: false, isThin: true) == .rung(last))
        for kind in [RenditionKind.rung(0), .screen(1), .joining] {
            #expect(ladder.rung(for: kind, .av1) == ladder.rung(for: kind))
        }
        for codec in VideoCodec.received { #expect(ladder.rung(for: .rung(last), codec) == ladder.rungs[last]) }
        let small = Ladder([.init(height: 180, bitRate: .kilobits(110))], width: 320, height: 180, framesPerSecond: 15)
        #expect(small.thin == nil)
        let large = Ladder(
            [.init(height: 720, bitRate: .kilobits(900)), .init(height: 360, bitRate: .kilobits(300))], width: 1280,
            height: 720, framesPerSecond: 30)
        #expect(large.thin == nil, "the lowest is as large")
        let upright = Ladder(RoomMediaConfiguration.Rung.standard, width: 720, height: 1280, framesPerSecond: 30)
        #expect(upright.thin?.rung.width == 360 && upright.thin?.rung.height == 640)
    }

    @Test("it is taken for the lowest rung and for stills, once these have stood for two seconds")
    func applies() {
        let last = ladder.rungs.count - 1
        func applied(_ choices: [RenditionSelector.Choice], isKnown: Bool = true, isBusy: Bool = false) -> [Bool] {
            var codec = offered()
            return choices.enumerated().map { index, choice in
                codec.applies(to: choice, in: ladder, isKnown: isKnown, isBusy: isBusy, at: at(Double(index)))
            }
        }
        let thin: [RenditionSelector.Choice] = [.rung(last), .stills, .rung(last), .stills]
        #expect(applied(thin) == [false, false, true, true])
        #expect(applied(thin, isKnown: false).allSatisfy { !$0 }, "nothing is known of the line yet")
        #expect(applied(thin, isBusy: true).allSatisfy { !$0 })
        #expect(applied([.rung(last), .rung(last), .rung(1), .rung(last), .rung(last)]).allSatisfy { !$0 })
        #expect(applied([.rung(0), .rung(0), .rung(1), .rung(1), .rung(1)]).allSatisfy { !$0 })
        #expect(applied([.stills, .stills, .stills, .audioOnly, .stills]) == [false, false, true, false, false])
        var other = offered()
        other.offer(false)
        #expect(
            (0..<4).allSatisfy {
                !other.applies(to: .stills, in: ladder, isKnown: true, isBusy: false, at: at(Double($0)))
            })
    }

    @Test("who cannot decode it, and asks for keyframes on a line without loss, gets it no more in this call")
    func fails() {
        var codec = offered()
        func fails(_ second: Int, loss: Double = 0, for requester: KeyframeRequester = .peer) -> Bool {
            codec.repaired(for: requester, loss: loss, at: at(Double(second)))
        }
        #expect((0..<20).allSatisfy { !fails($0, loss: 0.1) }, "the line lost them")
        #expect(stride(from: 20, to: 60, by: 4).allSatisfy { !fails($0) }, "now and then")
        #expect((70..<90).allSatisfy { !fails($0, for: .sender) }, "our own sender has dropped frames")
        #expect([100, 102, 104, 106].map { fails($0) } == [false, false, false, true])
        codec.offer(true)
        #expect(!codec.isOffered)
    }

    @Test("a line for it keeps motion where the other codecs have stills")
    func thin() {
        func settled(_ kilobits: Int, _ configuration: RenditionSelector.Configuration) -> RenditionSelector.Choice {
            var selector = RenditionSelector(rates: ladder.rungs.map(\.bitRate), configuration: configuration)
            for tick in 0..<300 { _ = selector.update(estimate: .kilobits(kilobits), at: at(Double(tick) / 5)) }
            return selector.choice
        }
        let last = RenditionSelector.Choice.rung(ladder.rungs.count - 1)
        #expect(settled(95, .init()) == .stills && settled(95, .thin) == last)
        #expect(settled(80, .thin) == .stills && settled(300, .thin) == last)
        #expect(settled(80, .thinScreen) == last && settled(50, .thinScreen) == .stills)
    }
}
