import Basics
import Testing

@testable import Peer

/// The second video section, on which a peer sends its screen beside its camera.
@Suite struct ScreenSectionTests {
    typealias F = SDPFixtures

    private func negotiation() -> Negotiation {
        var configuration = F.configuration()
        configuration.acceptsScreen = true
        return Negotiation(configuration: configuration)
    }

    /// Chromium's offer of audio, camera, data and a screen with one more video section behind.
    private func offer(_ directions: [Direction]) throws -> SessionDescription {
        var offer = try F.parsed("chromium156-reneg-add-screen")
        var third = offer.media[3]
        third.mid = "4"
        for index in third.ssrcs.indices { third.ssrcs[index].ssrc = SSRC(7000 + UInt32(index)) }
        third.ssrcGroups = []
        offer.media.append(third)
        offer.bundles = [["0", "1", "2", "3", "4"]]
        let video = [1, 3, 4]
        for (index, direction) in zip(video, directions) { offer.media[index].direction = direction }
        for index in video.dropFirst(directions.count).reversed() {
            offer.bundles[0].removeAll { $0 == offer.media[index].mid }
            offer.media.remove(at: index)
        }
        return offer
    }

    @Test(arguments: [Direction.sendOnly, .sendReceive]) func theScreenIsReceivedAndNothingIsSentThere(
        _ direction: Direction
    ) throws {
        var negotiation = negotiation()
        let (answer, session) = try negotiation.answer(offer([.sendReceive, direction]), newCredentials: F.credentials)
        #expect(session.sections.map(\.accepted) == [true, true, true, true])
        #expect(session.sections.map(\.isScreen) == [false, false, false, true])
        #expect(answer.media.map(\.direction)[3] == .receiveOnly)
        #expect(answer.media[3].port == 9 && answer.media[3].ssrcs.isEmpty && answer.media[3].msids.isEmpty)
        #expect(answer.bundles == [["0", "1", "2", "3"]])
        #expect(session.section(.video)?.mid == "1" && session.section(.video)?.direction == .sendReceive)
        #expect(session.screen?.mid == "3" && session.screen?.remoteSources.map(\.ssrc) == [288_499_611])
        #expect(session.screen?.codecs.map(\.name) == session.section(.video)?.codecs.map(\.name))
    }

    @Test func withoutTheSettingASecondVideoSectionIsRejected() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let (answer, session) = try negotiation.answer(offer([.sendReceive, .sendOnly]), newCredentials: F.credentials)
        #expect(answer.media[3].port == 0 && !session.sections[3].accepted && session.screen == nil)
    }

    @Test func aThirdOneIsRejectedAndStaysSo() throws {
        var negotiation = negotiation()
        let three = try offer([.sendReceive, .sendOnly, .sendOnly])
        for _ in 0..<3 {
            let (answer, session) = try negotiation.answer(three, newCredentials: F.credentials)
            #expect(answer.media.map(\.port) == [9, 9, 9, 9, 0])
            #expect(answer.bundles == [["0", "1", "2", "3"]])
            #expect(session.sections.map(\.isScreen) == [false, false, false, true, false])
            #expect(throws: Never.self) { try SessionDescription(parsing: answer.description) }
        }
    }

    @Test func aPeerThatReceivesOnlyThereSendsNoScreen() throws {
        var negotiation = negotiation()
        let (answer, session) = try negotiation.answer(
            offer([.sendReceive, .receiveOnly]), newCredentials: F.credentials)
        #expect(answer.media[3].port == 0 && session.screen == nil)
    }

    /// The section keeps its place for the time when the peer may send.
    @Test func whoMaySendNothingSendsNoScreen() throws {
        var configuration = F.configuration()
        configuration.acceptsScreen = true
        configuration.video = .sendOnly
        var negotiation = Negotiation(configuration: configuration)
        let (answer, session) = try negotiation.answer(
            offer([.receiveOnly, .sendOnly]), newCredentials: F.credentials)
        #expect(answer.media[3].port == 9 && answer.media[3].direction == .inactive)
        #expect(session.screen?.direction == .inactive && session.section(.video)?.mid == "1")
        negotiation.configuration.video = .sendReceive
        let (later, _) = try negotiation.answer(offer([.sendReceive, .sendOnly]), newCredentials: F.credentials)
        #expect(later.media[3].direction == .receiveOnly)
    }

    @Test func theScreenComesAndGoesInItsSection() throws {
        var negotiation = negotiation()
        _ = try negotiation.answer(try offer([.sendReceive]), newCredentials: F.credentials)
        for _ in 0..<2 {
            let (shared, session) = try negotiation.answer(
                try offer([.sendReceive, .sendOnly]), newCredentials: F.credentials)
            #expect(shared.media[3].direction == .receiveOnly && session.screen?.direction == .receiveOnly)
            let (paused, without) = try negotiation.answer(
                try offer([.sendReceive, .inactive]), newCredentials: F.credentials)
            #expect(paused.media[3].port == 9 && paused.media[3].direction == .inactive)
            #expect(without.screen?.direction == .inactive, "the section keeps its place and its meaning")
        }
        var stopped = try offer([.sendReceive, .inactive])
        stopped.media[3].port = 0
        let (answer, session) = try negotiation.answer(stopped, newCredentials: F.credentials)
        #expect(answer.media[3].port == 0 && session.screen == nil)
    }

    @Test(arguments: [
        // With a camera, without one, and with one that comes, goes and is held.
        [[Direction.sendReceive, .sendOnly], [.receiveOnly, .sendOnly], [.inactive, .sendOnly]],
        [[.receiveOnly, .sendOnly], [.sendReceive, .sendOnly], [.receiveOnly, .inactive]],
    ])
    func bothSectionsKeepTheirMeaning(_ offers: [[Direction]]) throws {
        var negotiation = negotiation()
        for directions in offers {
            let (_, session) = try negotiation.answer(try offer(directions), newCredentials: F.credentials)
            #expect(session.section(.video)?.mid == "1" && session.screen?.mid == "3", "\(directions)")
        }
    }

    @Test func theOnlyUsableSectionIsTheVideo() throws {
        var negotiation = negotiation()
        _ = try negotiation.answer(try offer([.sendReceive, .sendOnly]), newCredentials: F.credentials)
        var stopped = try offer([.sendReceive, .sendOnly])
        stopped.media[1].port = 0
        let (_, session) = try negotiation.answer(stopped, newCredentials: F.credentials)
        #expect(session.section(.video)?.mid == "3" && session.screen == nil)
    }

    @Test func anOfferOfOursKeepsTheScreensSection() throws {
        var negotiation = negotiation()
        _ = try negotiation.answer(try offer([.sendReceive, .sendOnly]), newCredentials: F.credentials)
        let ours = negotiation.makeOffer()
        #expect(ours.media[3].direction == .receiveOnly && ours.media[3].ssrcs.isEmpty)
        #expect(ours.media[1].direction == .sendReceive && !ours.media[1].ssrcs.isEmpty)
        var configuration = F.configuration(lite: false)
        configuration.acceptsScreen = true
        var peer = Negotiation(configuration: configuration)
        var (answer, _) = try peer.answer(ours, newCredentials: F.otherCredentials)
        answer.media[3] = answer.media[1]
        answer.media[3].mid = "3"
        answer.media[3].direction = .sendOnly
        let session = try negotiation.accept(answer: answer)
        #expect(session.screen?.mid == "3" && session.screen?.direction == .receiveOnly)
        #expect(session.section(.video)?.mid == "1")
    }
}
