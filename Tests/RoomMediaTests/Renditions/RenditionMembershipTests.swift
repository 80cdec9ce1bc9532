import Testing

@testable import RoomMedia

@Suite("Who gets which rendition")
struct RenditionMembershipTests {
    @Test("what it has goes on until the next one's keyframe")
    func move() {
        var membership = RenditionMembership<String>()
        #expect(membership.choose("high") == ([], "high"))
        #expect(membership.takes("high", isKeyframe: false) == (false, nil))
        #expect(membership.takes("high", isKeyframe: true) == (true, nil))
        #expect(membership.choose("low") == ([], "low"))
        #expect(membership.all == ["high", "low"])
        #expect(membership.takes("high", isKeyframe: false) == (true, nil))
        #expect(membership.takes("low", isKeyframe: false) == (false, nil))
        #expect(membership.takes("low", isKeyframe: true) == (true, "high"))
        #expect(membership.all == ["low"])
        #expect(membership.takes("high", isKeyframe: true) == (false, nil))
    }

    @Test("who thinks better of it before the keyframe keeps what it has")
    func back() {
        var membership = RenditionMembership<String>()
        _ = membership.choose("high")
        _ = membership.takes("high", isKeyframe: true)
        _ = membership.choose("low")
        #expect(membership.choose("high") == (["low"], nil))
        #expect(membership.all == ["high"])
        _ = membership.choose("low")
        #expect(membership.choose("slides") == (["low"], "slides"))
        #expect(membership.choose("slides") == ([], "slides"), "asked again for a keyframe that has not come")
    }

    @Test("sound alone leaves all at once")
    func audio() {
        var membership = RenditionMembership<String>()
        _ = membership.choose("high")
        _ = membership.takes("high", isKeyframe: true)
        _ = membership.choose("low")
        #expect(membership.choose(nil) == (["low", "high"], nil))
        #expect(membership.all.isEmpty)
        _ = membership.choose("low")
        #expect(membership.leave() == ["low"])
        #expect(membership.leave().isEmpty)
    }
}
