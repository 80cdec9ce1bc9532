import Basics
import Testing

@testable import Peer

@Suite struct RenegotiationTests {
    typealias F = SDPFixtures

    @Test func aPlainReofferKeepsCredentialsAndRoleAndCountsUp() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        var offer = try F.parsed("chromium156-av")
        let (first, _) = try negotiation.answer(offer, newCredentials: F.credentials)
        offer.media[0].direction = .inactive
        offer.media[1].direction = .receiveOnly
        let (second, session) = try negotiation.answer(offer, newCredentials: F.otherCredentials)
        #expect(second.origin.sessionID == first.origin.sessionID)
        #expect(second.origin.version == first.origin.version + 1)
        #expect(second.media[0].iceUfrag == F.credentials.ufrag)
        #expect(!session.iceRestarted)
        #expect(session.sections.map(\.direction) == [.inactive, .sendOnly])
    }

    /// Chromium shows nothing of a source that is gone for a while and comes back under the same number.
    @Test func ourSourcesStayNamedWhileThePeerHolds() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        var offer = try F.parsed("chromium156-av")
        let (before, _) = try negotiation.answer(offer, newCredentials: F.credentials)
        for index in offer.media.indices { offer.media[index].direction = .inactive }
        let (held, session) = try negotiation.answer(offer, newCredentials: F.credentials)
        #expect(session.sections.map(\.direction) == [.inactive, .inactive])
        #expect(held.media.map(\.direction) == [.inactive, .inactive])
        for (old, new) in zip(before.media, held.media) {
            #expect(!new.ssrcs.isEmpty)
            #expect(new.ssrcs == old.ssrcs && new.ssrcGroups == old.ssrcGroups && new.msids == old.msids)
        }
        let (again, _) = try negotiation.answer(try F.parsed("chromium156-av"), newCredentials: F.credentials)
        #expect(again.media.map(\.ssrcs) == before.media.map(\.ssrcs))
    }

    @Test func aPeerThatOnlyEverSendsIsToldOfNoSource() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        var offer = try F.parsed("chromium156-av")
        for index in offer.media.indices { offer.media[index].direction = .sendOnly }
        for _ in 0..<2 {
            let (answer, _) = try negotiation.answer(offer, newCredentials: F.credentials)
            #expect(answer.media.map(\.ssrcs.count) == [0, 0])
        }
    }

    /// RFC 8445 §5.3.
    @Test func anIceRestartChangesBothPartsAndNothingElse() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        var offer = try F.parsed("chromium156-av")
        let (_, before) = try negotiation.answer(offer, newCredentials: F.credentials)
        for index in offer.media.indices {
            offer.media[index].iceUfrag = "wxyz"
            offer.media[index].icePassword = "new-password-new-password"
        }
        let (answer, session) = try negotiation.answer(offer, newCredentials: F.otherCredentials)
        #expect(session.iceRestarted)
        #expect(answer.media.allSatisfy { $0.iceUfrag == "NewUfrag" && $0.icePassword == F.otherCredentials.password })
        #expect(session.dtlsRole == before.dtlsRole)
        #expect(session.sections == before.sections)
    }

    @Test(arguments: [(SetupRole.active, SetupRole.passive), (.passive, .active), (.actpass, .passive)])
    func theRoleIsFixedForLife(_ offered: SetupRole, answered: SetupRole) throws {
        var negotiation = Negotiation(configuration: F.configuration())
        var offer = try F.parsed("chromium156-av")
        for setup in [offered, .actpass] {
            for index in offer.media.indices { offer.media[index].setup = setup }
            let (answer, _) = try negotiation.answer(offer, newCredentials: F.credentials)
            #expect(answer.media.allSatisfy { $0.setup == answered })
        }
    }

    @Test func aStoppedSectionIsRejectedAndItsPlaceMayBeUsedAgain() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let whole = try F.parsed("chromium156-av")
        _ = try negotiation.answer(whole, newCredentials: F.credentials)
        var offer = whole
        offer.media[1].port = 0
        offer.bundles = [["0"]]
        let (stopped, session) = try negotiation.answer(offer, newCredentials: F.credentials)
        #expect(stopped.media[1].port == 0)
        #expect(stopped.bundles == [["0"]])
        #expect(session.section(.video) == nil)
        offer = whole
        offer.media[1].mid = "2"
        offer.bundles = [["0", "2"]]
        let (recycled, again) = try negotiation.answer(offer, newCredentials: F.credentials)
        #expect(recycled.media[1].mid == "2")
        #expect(recycled.bundles == [["0", "2"]])
        #expect(again.section(.video)?.mid == "2")
    }

    @Test func sectionsMayNotVanish() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        var offer = try F.parsed("chromium156-av")
        _ = try negotiation.answer(offer, newCredentials: F.credentials)
        offer.media.removeLast()
        #expect(throws: SDPError.self) { _ = try negotiation.answer(offer, newCredentials: F.credentials) }
    }

    @Test(arguments: [true, false]) func ourOfferIsAnsweredByOurOwnKind(compact: Bool) throws {
        var callerConfiguration = F.configuration(lite: false)
        callerConfiguration.isCompact = compact
        callerConfiguration.videoCodecs = [.h264, .vp8]
        var caller = Negotiation(configuration: callerConfiguration)
        var room = Negotiation(configuration: F.configuration())
        let offer = caller.makeOffer(iceRestart: nil)
        if compact {
            // With lines that end in LF this fits into one segment on Ethernet, in JSON (`doors.rawTCP`).
            let lines = offer.description.split(separator: "\r\n")
            #expect(lines.reduce(0) { $0 + $1.utf8.count + 2 } < 1250, "\(offer)")
            for name in ["a=fingerprint", "a=setup", "a=ice-ufrag", "a=ice-pwd", "c="] {
                #expect(lines.count { $0.hasPrefix(name) } == 1, "\(name)")
            }
        }
        let (answer, roomSession) = try room.answer(
            SessionDescription(parsing: offer.description), newCredentials: F.credentials)
        let session = try caller.accept(answer: SessionDescription(parsing: answer.description))
        #expect(session.dtlsRole == .client)
        #expect(roomSession.dtlsRole == .server)
        #expect(session.remoteIsLite)
        #expect(session.sections.map(\.accepted) == [true, true, true])
        #expect(session.section(.video)?.codecs.map(\.name) == [.h264, .vp8])
        #expect(
            session.section(.video)?.codecs.map(\.payloadType) == roomSession.section(.video)?.codecs.map(\.payloadType)
        )
        #expect(
            session.section(.video)?.codecs[0].feedback == (compact ? [.nack, .pli, .remb, .transportCC] : .all))
        #expect(session.section(.video)?.headerExtensions == roomSession.section(.video)?.headerExtensions)
        #expect(session.remoteCandidates.count == 2)
        #expect(session.sctpPort == 5000)

        let restart = try SessionDescription(
            parsing: caller.makeOffer(iceRestart: F.otherCredentials).description)
        #expect(restart.media.allSatisfy { $0.setup == .actpass && $0.iceUfrag == "NewUfrag" })
        #expect(restart.origin.version == offer.origin.version + 1)
        var changed = try room.answer(SessionDescription(parsing: restart.description), newCredentials: .random())
        #expect(changed.1.iceRestarted)
        changed.0.media[1].port = 0
        let after = try caller.accept(answer: changed.0)
        #expect(after.iceRestarted)
        #expect(after.sections.map(\.accepted) == [true, false, true])
    }

    @Test func anAnswerToNothingOrOfAnotherShapeIsRefused() throws {
        var caller = Negotiation(configuration: F.configuration(lite: false))
        let answer = try F.parsed("chromium156-answer-to-own-av")
        #expect(throws: SDPError.self) { _ = try caller.accept(answer: answer) }
        _ = caller.makeOffer(iceRestart: nil)
        #expect(throws: SDPError.self) { _ = try caller.accept(answer: answer) }
    }

    @Test func anAnswerWithoutOurCodecsSaysSo() throws {
        var configuration = F.configuration(lite: false)
        configuration.acceptsDataChannels = false
        configuration.audio = nil
        var caller = Negotiation(configuration: configuration)
        var answer = caller.makeOffer(iceRestart: nil)
        answer.media[0].codecs = [CodecDescription(payloadType: 96, name: "VP9", clockRate: 90_000)]
        let error = #expect(throws: SDPError.self) { _ = try caller.accept(answer: answer) }
        #expect(error?.code == .noCommonCodec)
    }
}

@Suite("ICE restart without an offer") struct ICERestartTests {
    typealias F = SDPFixtures
    private static let renewed = ICECredentials(ufrag: "wxyz", password: "new-password-new-password")

    @Test("It renews both ends' credentials and nothing else")
    func restart() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let offer = try F.parsed("chromium156-av")
        let (_, before) = try negotiation.answer(offer, newCredentials: F.credentials)
        let session = try negotiation.restartICE(remote: Self.renewed, newCredentials: F.otherCredentials)
        #expect(session.iceRestarted && session.remoteIce == Self.renewed && session.localIce == F.otherCredentials)
        #expect(
            session.sections == before.sections && session.dtlsRole == before.dtlsRole
                && session.sctpPort == before.sctpPort)
        // A later offer with the renewed credentials is no restart.
        var again = offer
        for index in again.media.indices {
            again.media[index].iceUfrag = Self.renewed.ufrag
            again.media[index].icePassword = Self.renewed.password
        }
        let (answer, later) = try negotiation.answer(again, newCredentials: F.credentials)
        #expect(!later.iceRestarted && answer.iceCredentials == F.otherCredentials)
    }

    @Test("Credentials that are the same in one part or in both restart nothing")
    func refused() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        #expect(throws: SDPError.self) {
            try negotiation.restartICE(remote: Self.renewed, newCredentials: F.otherCredentials)
        }
        let offer = try F.parsed("chromium156-av")
        let (_, before) = try negotiation.answer(offer, newCredentials: F.credentials)
        let present = before.remoteIce
        for wrong in [
            present, ICECredentials(ufrag: present.ufrag, password: Self.renewed.password),
            ICECredentials(ufrag: Self.renewed.ufrag, password: present.password),
            ICECredentials(ufrag: "abc", password: Self.renewed.password),
            ICECredentials(ufrag: "wx yz", password: Self.renewed.password),
        ] {
            #expect(throws: SDPError.self) {
                try negotiation.restartICE(remote: wrong, newCredentials: F.otherCredentials)
            }
        }
        #expect(negotiation.agreed == before)
    }

    @Test("Another certificate is another connection, a restart is not")
    func certificates() throws {
        let first = try F.parsed("chromium156-av")
        #expect(first.fingerprints.count == 1 && first.iceUfrag != nil && first.icePassword != nil)
        #expect(!first.isOfOtherConnection(than: first))
        #expect(try F.parsed("chromium156-audio-only").isOfOtherConnection(than: first))
        var renewed = first
        for index in renewed.media.indices { renewed.media[index].iceUfrag = "wxyz" }
        #expect(!renewed.isOfOtherConnection(than: first))
    }
}
