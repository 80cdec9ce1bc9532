import Basics
import Testing

@testable import Call

@Suite("The change from one connection to another")
struct ChangeoverTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("picture and audio change each by itself, the picture at a keyframe, and the gaps are told once")
    func changes() {
        var changeover = Changeover()
        #expect(changeover.frame(of: 1, isKeyframe: false, at: at(0)) == false)
        #expect(changeover.frame(of: 1, isKeyframe: true, at: at(10)) == true)
        #expect(changeover.newConnection(at: at(10)) == nil)
        #expect(changeover.packet(of: 1, at: at(20)) == (true, true))
        let first = changeover.newConnection(at: at(20))
        #expect(first?.number == 1 && first?.gaps == nil)
        #expect(changeover.newConnection(at: at(20)) == nil)

        #expect(changeover.packet(of: 1, at: at(1000)) == (true, false))
        #expect(changeover.packet(of: 2, at: at(1015)) == (true, true))
        #expect(changeover.packet(of: 1, at: at(1020)) == (false, false))
        #expect(changeover.frame(of: 1, isKeyframe: false, at: at(1030)) == true)
        #expect(changeover.frame(of: 2, isKeyframe: false, at: at(1040)) == false)
        #expect(changeover.newConnection(at: at(1040)) == nil)
        #expect(changeover.frame(of: 2, isKeyframe: true, at: at(1080)) == true)
        #expect(changeover.frame(of: 1, isKeyframe: true, at: at(1090)) == false)
        let second = changeover.newConnection(at: at(1100))
        #expect(second?.number == 2)
        #expect(second?.gaps == .init(picture: .milliseconds(50), sound: .milliseconds(15)))
        #expect(changeover.latest == at(1080))
    }

    @Test("a connection without a picture counts after three seconds")
    func soundAlone() {
        var changeover = Changeover()
        _ = changeover.frame(of: 1, isKeyframe: true, at: at(0))
        _ = changeover.packet(of: 1, at: at(0))
        _ = changeover.newConnection(at: at(0))
        _ = changeover.packet(of: 2, at: at(100))
        #expect(changeover.newConnection(at: at(3100)) == nil)
        #expect(changeover.newConnection(at: at(3101))?.gaps?.sound == .milliseconds(100))
        // A later picture is taken, too.
        #expect(changeover.frame(of: 2, isKeyframe: true, at: at(9000)) == true)
    }
}
