# Completion of kafka-tools and of the kafka-* commands; written by: kafka-tools completion fish
function _kafka_tools_complete
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -t)
    for answer in (env _KAFKA_TOOLS_COMPLETE=fish_complete kafka-tools 2>/dev/null)
        set -l parts (string split -m 1 , -- $answer)
        switch $parts[1]
            case file
                __fish_complete_path $parts[2]
            case dir
                __fish_complete_directories $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete --no-files --command kafka-tools --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-topics --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-topics.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-configs --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-configs.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-scram --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-scram.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-acls --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-acls.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-delegation-tokens --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-delegation-tokens.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-consumer-groups --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-consumer-groups.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-groups --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-groups.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-share-groups --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-share-groups.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-streams-groups --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-streams-groups.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-streams-application-reset --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-streams-application-reset.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-delete-records --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-delete-records.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-get-offsets --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-get-offsets.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-leader-election --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-leader-election.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-log-dirs --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-log-dirs.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-reassign-partitions --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-reassign-partitions.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-replica-verification --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-replica-verification.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-dump-log --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-dump-log.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-storage --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-storage.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-metadata-shell --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-metadata-shell.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-broker-api-versions --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-broker-api-versions.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-cluster --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-cluster.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-features --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-features.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-metadata-quorum --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-metadata-quorum.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-transactions --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-transactions.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-client-metrics --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-client-metrics.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-console-producer --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-console-producer.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-console-consumer --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-console-consumer.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-producer-perf-test --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-producer-perf-test.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-consumer-perf-test --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-consumer-perf-test.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-e2e-latency --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-e2e-latency.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-verifiable-producer --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-verifiable-producer.sh --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-verifiable-consumer --arguments '(_kafka_tools_complete)'
complete --no-files --command kafka-verifiable-consumer.sh --arguments '(_kafka_tools_complete)'
