package import Peer

/// One participant's intake.
package struct Intake: Sendable {
    package let video: VideoIntake
    /// What the peer sends beside its camera.
    package let screen: VideoIntake
    let inbox: AudioInbox
    package let statistics: AudioIntakeStatistics
    let audioDelay: AudioDelay
    let link: LinkGauges

    var pictures: [VideoIntake] { [video, screen] }

    /// Takes a packet of the peer, on the loop.
    package func receive(_ audio: ReceivedAudioPacket) { inbox.post(audio) }

    /// The intake of the participant's second peer, which sends the screen as its only video.
    package var ofScreenPeer: Intake {
        Intake(
            video: screen, screen: screen, inbox: AudioInbox(), statistics: statistics, audioDelay: AudioDelay(),
            link: LinkGauges())
    }
}
