import Testing

@testable import RoomMedia

@Suite("RenditionMembership")
struct RenditionMembershipTests {
    @Test("the old rendition goes on until the new one's keyframe")
    func move() {
        var membership = RenditionMembership<String>()
        #expect(membership.choose("high") == ([], "high"))
        #expect(membership.accept("high", isKeyframe: false) == (false, nil))
        #expect(membership.accept("high", isKeyframe: true) == (true, nil))
        #expect(membership.choose("low") == ([], "low"))
        #expect(membership.all == ["high", "low"])
        #expect(membership.accept("high", isKeyframe: false) == (true, nil))
        #expect(membership.accept("low", isKeyframe: false) == (false, nil))
        #expect(membership.accept("low", isKeyframe: true) == (true, "high"))
        #expect(membership.all == ["low"])
        #expect(membership.accept("high", isKeyframe: true) == (false, nil))
    }

    @Test("a choice that is taken back before the keyframe keeps the old rendition")
    func back() {
        var membership = RenditionMembership<String>()
        _ = membership.choose("high")
        _ = membership.accept("high", isKeyframe: true)
        _ = membership.choose("low")
        #expect(membership.choose("high") == (["low"], nil))
        #expect(membership.all == ["high"])
        _ = membership.choose("low")
        #expect(membership.choose("stills") == (["low"], "stills"))
        #expect(membership.choose("stills") == ([], "stills"), "asked again for a keyframe that has not come")
    }

    @Test("audio alone leaves all renditions at once")
    func audio() {
        var membership = RenditionMembership<String>()
        _ = membership.choose("high")
        _ = membership.accept("high", isKeyframe: true)
        _ = membership.choose("low")
        #expect(membership.choose(nil) == (["low", "high"], nil))
        #expect(membership.all.isEmpty)
        _ = membership.choose("low")
        #expect(membership.leave() == ["low"])
        #expect(membership.leave().isEmpty)
    }
}
