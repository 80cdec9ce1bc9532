import Testing

@testable import RoomMedia

@Suite("RenditionMembership")
struct RenditionMembershipTests {
    /// A peer that gets this rendition.
    private func member(of key: String) -> RenditionMembership<String> {
        var membership = RenditionMembership<String>()
        _ = membership.choose(key)
        _ = membership.accept(key, isKeyframe: true)
        return membership
    }

    @Test("the old rendition goes on until the new one's keyframe")
    func move() {
        var membership = RenditionMembership<String>()
        #expect(membership.choose("high").isEmpty)
        #expect(membership.accept("high", isKeyframe: false) == (false, []))
        #expect(membership.accept("high", isKeyframe: true) == (true, []))
        #expect(membership.choose("low").isEmpty)
        #expect(membership.all == ["high", "low"])
        #expect(membership.accept("high", isKeyframe: false) == (true, []))
        #expect(membership.accept("low", isKeyframe: false) == (false, []))
        #expect(membership.accept("low", isKeyframe: true) == (true, ["high"]))
        #expect(membership.all == ["low"])
        #expect(membership.accept("high", isKeyframe: true) == (false, []))
    }

    @Test("a choice that is taken back before the keyframe keeps the old rendition")
    func back() {
        var membership = member(of: "high")
        _ = membership.choose("low")
        #expect(membership.choose("high") == ["low"])
        #expect(membership.all == ["high"])
        _ = membership.choose("low")
        #expect(membership.choose("stills") == ["low"])
        #expect(membership.choose("stills").isEmpty)
        #expect(membership.all == ["high", "stills"])
    }

    @Test("the bridge is there until the keyframe of the chosen rendition")
    func bridge() {
        var membership = RenditionMembership<String>()
        #expect(membership.choose("high", bridge: "joining").isEmpty)
        #expect(membership.all == ["joining", "high"])
        #expect(membership.accept("joining", isKeyframe: false) == (false, []))
        #expect(membership.accept("joining", isKeyframe: true) == (true, []))
        #expect(membership.accept("joining", isKeyframe: false) == (true, []))
        #expect(membership.all == ["joining", "high"])
        #expect(membership.choose("middle", bridge: "joining") == ["high"], "another choice keeps it")
        #expect(membership.all == ["joining", "middle"])
        #expect(membership.accept("middle", isKeyframe: true) == (true, ["joining"]))
        #expect(membership.all == ["middle"])
    }

    @Test("a bridge whose keyframe comes last, or not at all, is left with the others")
    func lateBridge() {
        var membership = member(of: "low")
        _ = membership.choose("high", bridge: "joining")
        var other = membership
        #expect(membership.accept("high", isKeyframe: true) == (true, ["low", "joining"]))
        #expect(other.accept("joining", isKeyframe: true) == (true, ["low"]))
        #expect(other.choose(nil) == ["joining", "high"])
        var third = member(of: "low")
        _ = third.choose("high", bridge: "joining")
        #expect(third.choose("high") == ["joining"])
        #expect(third.choose("low", bridge: "joining") == ["high"], "nothing is awaited")
        #expect(third.all == ["low"])
    }

    @Test("audio alone leaves all renditions at once")
    func audio() {
        var membership = member(of: "high")
        _ = membership.choose("low")
        #expect(membership.choose(nil) == ["high", "low"])
        #expect(membership.all.isEmpty)
        _ = membership.choose("low")
        #expect(membership.leave() == ["low"])
        #expect(membership.leave().isEmpty)
    }
}
